//! Listeners that join and leave while the controller distributes changes, and the waits for their sync.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use informer_types::{Cause, Change, Notification, NotificationSink, SyncToken};
use parking_lot::Mutex;
use shuttle::{
    future::{block_on, spawn},
    thread,
};

use crate::{
    delta_queue::{Delta, DeltaKind, delta_queue},
    listener::ListenerConfig,
    objects::version,
    processor::Registration,
    store::Store,
};

const CHANGES: usize = 3;

/// Records versions, and holds the tokens.
#[derive(Default)]
struct Recorder {
    versions: Mutex<Vec<(usize, Cause)>>,
    tokens: Mutex<Vec<SyncToken>>,
}

impl NotificationSink for Recorder {
    fn offer(&self, notification: Notification) {
        self.tokens.lock().extend(notification.initial.clone());
        let object = notification.change.object();
        if let Change::Updated { old, .. } = &notification.change {
            let last = self.versions.lock().last().map(|(version, _)| *version);
            assert_eq!(last, Some(version(old)), "an update of what was not told");
        }
        self.versions.lock().push((version(object), notification.cause));
    }
}

fn config(resync: u64) -> ListenerConfig {
    let resync = Some(Duration::from_secs(resync));
    ListenerConfig { name: "recorder".to_owned(), resync, relist_all: false }
}

fn join(store: &Store, recorder: &Arc<Recorder>) -> Option<Registration> {
    let sink: Arc<dyn NotificationSink> = Arc::clone(recorder) as _;
    store.processor.join(config(0), sink, || store.objects())
}

/// Whenever a listener joins, its replay and what follows are one history without a gap or a repetition (C-10,
/// P-11); after it has left it hears nothing (P-14).
pub fn who_joins_hears_everything_once_and_who_left_nothing() {
    let store = Arc::new(Store::default());
    let writer = Arc::clone(&store);
    let controller = thread::spawn(move || (1..=CHANGES).for_each(|to| writer.write(to, Cause::Live)));
    let stays = Arc::new(Recorder::default());
    let stayer = (Arc::clone(&store), Arc::clone(&stays));
    let stayer = thread::spawn(move || drop(join(&stayer.0, &stayer.1)));
    let leaves = Arc::new(Recorder::default());
    let registration = join(&store, &leaves).unwrap();
    registration.remove();
    let heard = leaves.versions.lock().len();
    stayer.join().unwrap();
    controller.join().unwrap();

    assert_eq!(leaves.versions.lock().len(), heard, "told after it had left");
    for recorder in [&stays, &leaves] {
        let versions = recorder.versions.lock();
        let contiguous = versions.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
        assert!(contiguous, "a gap or a repetition: {versions:?}");
    }
    assert_eq!(stays.versions.lock().last().unwrap().0, CHANGES, "the last state was told");
}

/// Whenever the informer syncs and tokens are let go of, a listener syncs once and for all, and not before
/// (C-12, P-16), and every caller that waits for it wakes up.
pub fn a_listener_syncs_when_the_informer_did_and_its_tokens_are_gone() {
    let store = Arc::new(Store::default());
    let writer = Arc::clone(&store);
    let controller = thread::spawn(move || {
        writer.write(1, Cause::Initial);
        drop(writer.processor.lock().informer_synced());
        writer.write(2, Cause::Live);
    });
    let recorder = Arc::new(Recorder::default());
    let registration = join(&store, &recorder).unwrap();
    let waiting = registration.clone();
    let waiter = spawn(async move { waiting.wait_synced().await });
    let (worker, watched) = (Arc::clone(&recorder), registration.clone());
    let worker = thread::spawn(move || {
        // Like a dispatcher: a notification is settled at any time after it was offered.
        while worker.tokens.lock().is_empty() {
            thread::yield_now();
        }
        assert!(!watched.has_synced(), "synced before its first notification was settled");
        worker.tokens.lock().clear();
    });
    worker.join().unwrap();
    controller.join().unwrap();
    recorder.tokens.lock().clear();

    assert!(block_on(waiter).unwrap());
    assert!(registration.has_synced());
}

/// Whenever the informer stops, or the listener leaves, every caller that waits for its sync wakes up with the
/// right result, and no listener can join afterwards (P-13).
pub fn a_stop_wakes_whoever_waits_for_a_sync() {
    let store = Arc::new(Store::default());
    let recorder = Arc::new(Recorder::default());
    let registration = join(&store, &recorder).unwrap();
    let waiting = registration.clone();
    let waiter = spawn(async move { waiting.wait_synced().await });
    let syncing = Arc::clone(&store);
    let controller = thread::spawn(move || drop(syncing.processor.lock().informer_synced()));
    let leaver = thread::spawn(move || registration.remove());
    store.processor.close();
    controller.join().unwrap();
    leaver.join().unwrap();

    let _ = block_on(waiter).unwrap();
    assert!(join(&store, &recorder).is_none(), "joined a stopped informer");
    assert_eq!(Arc::strong_count(&recorder), 1, "the sink is still referenced");
}

/// A listener with a period that joins while the timer looks for one is found (P-10).
pub fn the_timer_finds_a_listener_that_joins() {
    let store = Arc::new(Store::default());
    let timing = Arc::clone(&store);
    let timer = thread::spawn(move || {
        block_on(async {
            while timing.processor.next_resync().is_none() {
                timing.processor.resync_moved().await;
            }
        });
    });
    let joiner = Arc::clone(&store);
    let joined = thread::spawn(move || {
        assert!(joiner.processor.join(config(0), Arc::new(Recorder::default()), Vec::new).is_some());
        assert!(joiner.processor.join(config(9), Arc::new(Recorder::default()), Vec::new).is_some());
    });
    joined.join().unwrap();
    timer.join().unwrap();
}

fn bookmark(scope: usize, number: usize) -> Delta {
    Delta::now(DeltaKind::Bookmark(scope, number.to_string()))
}

/// Whatever the producers of a full queue do, the consumer gets everything, each producer's in its order, and
/// then hears the end.
pub fn a_full_queue_delivers_everything_and_then_ends() {
    let (sender, mut receiver) = delta_queue(NonZeroUsize::MIN);
    let one_by_one = sender.clone();
    thread::spawn(move || {
        block_on(async {
            for number in 0..CHANGES {
                one_by_one.push(bookmark(0, number)).await;
            }
        });
    });
    thread::spawn(move || {
        let mut burst: Vec<Delta> = (0..CHANGES).map(|number| bookmark(1, number)).collect();
        block_on(sender.push_all(&mut burst));
        assert!(burst.is_empty());
    });
    let mut batch = Vec::new();
    while block_on(receiver.recv_many(&mut batch, 2)) > 0 {}

    for scope in 0..2 {
        let of_scope = batch.iter().filter_map(|delta| match &delta.kind {
            DeltaKind::Bookmark(from, number) if *from == scope => Some(number.parse::<usize>().unwrap()),
            _ => None,
        });
        assert_eq!(of_scope.collect::<Vec<_>>(), (0..CHANGES).collect::<Vec<_>>());
    }
}

/// A consumer that goes away lets every producer end, those that wait for room too.
pub fn producers_end_when_the_consumer_has_gone() {
    let (sender, mut receiver) = delta_queue(NonZeroUsize::MIN);
    let producers: Vec<_> = (0..2)
        .map(|scope| {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut burst: Vec<Delta> = (0..CHANGES).map(|number| bookmark(scope, number)).collect();
                block_on(sender.push_all(&mut burst));
                assert!(burst.is_empty());
            })
        })
        .collect();
    block_on(receiver.recv_many(&mut Vec::new(), 1));
    drop(receiver);

    producers.into_iter().for_each(|producer| producer.join().unwrap());
}
