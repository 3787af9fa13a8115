//! Random histories with restarts of the host, through a subscription with `initial = "changed"`: after each restart the handler
//! believes what is true, and it receives nothing that did not change.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use informer_dispatch::{
    Batch, Events, Filter, FilterConfig, First, Initial, Queue, QueueConfig, Receipt, Receipts, Settlement,
    Skip, Write,
};
use informer_types::{Change, NotificationSink, ObjectKey, Source};
use proptest::{collection::vec, prelude::*, test_runner::TestCaseError};

use crate::{
    history::{History, Step, step, step_or_relabel},
    model::{Belief, Wish, wish},
    tests::config,
};

/// One thing that happens while the host runs.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Something happens to the objects, and the queue then delivers at most this many notifications.
    Step(Step, usize),
    /// What was acknowledged is written.
    Write,
}

/// One life of the host, how it ends, and what happens until the next one.
#[derive(Clone, Debug)]
struct Life {
    events: Vec<Event>,
    is_killed: bool,
    away: Vec<Step>,
}

/// A host with one plugin.
struct Host {
    filter: Filter<Queue>,
    queue: Queue,
    receipts: Receipts,
    belief: Belief,
}

/// What the database has.
#[derive(Default)]
struct Disk(HashMap<ObjectKey, Receipt>);

fn life() -> impl Strategy<Value = Life> {
    let event = prop_oneof![4 => (step(), 0..4_usize).prop_map(|(step, most)| Event::Step(step, most)), 1 => Just(Event::Write)];
    (vec(event, 0..20), any::<bool>(), vec(step_or_relabel(), 0..8))
        .prop_map(|(events, is_killed, away)| Life { events, is_killed, away })
}

// === impl Host ===

impl Host {
    fn start(wish: &Wish, belief: &Belief, disk: &Disk, history: &History) -> Self {
        let source = Source::new("v1/pods".parse().unwrap());
        let receipts = Receipts::default();
        receipts.keep([source.clone()]);
        let queue = Queue::builder(&QueueConfig::default()).with_receipts(receipts.clone()).build();
        let config = FilterConfig { initial: Initial::Changed, ..config(wish) };
        let filter = Filter::new(config, queue.clone()).recalling(source, receipts.clone(), disk.0.clone());
        let filter = filter.choosing(history.matching());
        Self { filter, queue, receipts, belief: belief.clone() }
    }

    /// Delivers at most `most` notifications. Returns them.
    fn deliver(&self, most: usize) -> Vec<Change> {
        let mut delivered = Vec::new();
        while delivered.len() < most
            && let Some((lease, delivery)) = self.queue.take()
        {
            delivered.push(delivery.notification.change.clone());
            self.belief.receive(delivery.notification.change);
            lease.settle(Settlement::Acknowledged);
        }
        delivered
    }

    fn write(&self, disk: &mut Disk) {
        while let Some(batch) = self.receipts.take(3) {
            let waiting = disk.write(batch);
            waiting.into_iter().for_each(|(source, skip)| self.receipts.wait(&source, [skip]));
        }
    }
}

// === impl Disk ===

impl Disk {
    fn write(&mut self, batch: Batch) -> Vec<(Source, (ObjectKey, Skip))> {
        let mut waiting = Vec::new();
        for rows in batch.rows {
            assert_eq!(rows.first, First::Keep);
            for (key, write) in rows.writes {
                match write {
                    Write::State(receipt) => {
                        self.0.insert(key, receipt);
                    }
                    Write::Begun(receipt) => {
                        self.0.entry(key).or_insert(receipt);
                    }
                    Write::Gone => {
                        self.0.remove(&key);
                    }
                    Write::Skip(Skip { from, to }) if self.0.get(&key) == Some(&from) => {
                        self.0.insert(key, to);
                    }
                    Write::Skip(skip) => waiting.push((rows.source.clone(), (key, skip))),
                }
            }
        }
        waiting
    }
}

/// UID and version of each object.
fn versions(history: &History) -> BTreeMap<String, (String, String)> {
    let version = |object: &Arc<informer_types::Object>| {
        (object.name().to_owned(), (object.uid().to_string(), object.resource_version().to_owned()))
    };
    history.objects().map(version).collect()
}

fn play(wish: &Wish, lives: Vec<Life>) -> Result<(), TestCaseError> {
    let (belief, mut disk, mut history) = (Belief::new(wish.clone()), Disk::default(), History::default());
    // What the handler had acknowledged when the last life ended, if all of it is on disk.
    let mut known = None;
    for Life { events, is_killed, away } in lives {
        let host = Host::start(wish, &belief, &disk, &history);
        host.filter.offer_all(&mut history.list().into());
        host.filter.end_recall(|_| false);
        if let Some(known) = known.take() {
            let now = versions(&history);
            for change in host.deliver(usize::MAX) {
                let name = change.object().name();
                let is_news = now.get(name) != BTreeMap::get(&known, name);
                prop_assert!(is_news, "{} of {name}, which did not change", change.verb());
            }
            belief.check(&history)?;
        }
        // An older state that is repeated while a newer one is withheld may be acknowledged last.
        let repeats = events.iter().any(|event| matches!(event, Event::Step(Step::Resync | Step::Replay, _)));
        for event in events {
            match event {
                Event::Step(step, most) => {
                    let mut offered: VecDeque<_> = history.play(step).into();
                    host.filter.offer_all(&mut offered);
                    host.deliver(most);
                }
                Event::Write => host.write(&mut disk),
            }
        }
        if is_killed {
            // The deletion of an object whose first acknowledgement was not written is not noticed.
            belief.forget(|name| !disk.0.keys().any(|key| *key.name == *name));
        } else {
            host.deliver(usize::MAX);
            belief.check(&history)?;
            host.write(&mut disk);
            known = (!repeats).then(|| versions(&history));
        }
        for step in away {
            if matches!(step, Step::Relabel(_)) {
                if is_killed {
                    // It may be forgotten that an object left with its namespace, which must not come back unnoticed.
                    continue;
                }
                // An object may come or go without a change.
                known = None;
            }
            history.play(step);
        }
    }
    let host = Host::start(wish, &belief, &disk, &history);
    host.filter.offer_all(&mut history.list().into());
    host.filter.end_recall(|_| false);
    host.deliver(usize::MAX);
    belief.check(&history)
}

proptest! {
    #[test]
    fn a_restart_delivers_what_changed_and_nothing_else(wish in wish(), lives in vec(life(), 1..5)) {
        let wish = wish.with(Events { add: true, ..wish.events }, true);
        play(&wish, lives)?;
    }
}
