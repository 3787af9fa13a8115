//! The initial notifications of a subscription, however many informers serve the subscription one after the other.

use std::{collections::VecDeque, sync::Arc};

use informer_types::{Cause, Notification, NotificationSink, SyncToken};
use parking_lot::Mutex;
use tokio::sync::watch;

/// Tracks which initial notifications of a subscription are not settled. An informer that replaces another one does not deliver
/// unchanged objects again, so its registration does not wait for the notifications of the informer before. A replay before the
/// subscription is announced counts too ([`hold`](Self::hold)). Clones share one state.
#[derive(Clone)]
pub(super) struct Initials(Arc<Shared>);

struct Shared {
    /// The number of listeners with initial notifications that are not settled, and of replays that are not settled.
    unsettled: watch::Sender<usize>,
    present: Mutex<Present>,
}

/// The listener of the present informer.
enum Present {
    /// It offers its list. The initial notifications carry the token, which is made for the first one.
    Lists(Option<SyncToken>),
    /// It has offered its list. Other tokens than those of initial notifications are not tracked.
    Listed,
}

/// Receives the notifications of the listener before every other sink. Each notification still has the cause that the listener gave it,
/// so a token without the cause `replay` belongs to the first list.
struct Tracked {
    sink: Arc<dyn NotificationSink>,
    initials: Initials,
}

// === impl Initials ===

impl Initials {
    pub(super) fn new() -> Self {
        let present = Mutex::new(Present::Lists(None));
        Self(Arc::new(Shared { unsettled: watch::Sender::new(0), present }))
    }

    /// The sink for the listener of the subscription, which passes everything on to this one.
    pub(super) fn before(&self, sink: Arc<dyn NotificationSink>) -> Arc<dyn NotificationSink> {
        Arc::new(Tracked { sink, initials: self.clone() })
    }

    /// A token for notifications that count like initial ones until it and its clones are dropped.
    pub(super) fn hold(&self) -> SyncToken {
        self.count(|| {})
    }

    /// The listener of another informer begins. The one before offers nothing more.
    pub(super) fn begin(&self) {
        self.become_present(Present::Lists(None));
    }

    /// Returns true if each initial notification that was offered so far is settled.
    pub(super) fn are_settled(&self) -> bool {
        *self.0.unsettled.borrow() == 0
    }

    /// Waits until [`are_settled`](Self::are_settled).
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(super) async fn settled(&self) {
        // The sender lives as long as `self`.
        self.0.unsettled.subscribe().wait_for(|unsettled| *unsettled == 0).await.ok();
    }

    /// Exchanges the token of a listener for one that is tracked. The token of the listener is dropped once the tracked one is settled.
    fn track(&self, initial: SyncToken) -> SyncToken {
        let mut present = self.0.present.lock();
        let Present::Lists(token) = &mut *present else { return initial };
        token.get_or_insert_with(|| self.count(move || drop(initial))).clone()
    }

    /// A token that counts as unsettled until it and its clones are dropped. Then `done` runs.
    fn count(&self, done: impl FnOnce() + Send + Sync + 'static) -> SyncToken {
        let unsettled = self.0.unsettled.clone();
        unsettled.send_modify(|unsettled| *unsettled += 1);
        SyncToken::new(move || {
            unsettled.send_modify(|unsettled| *unsettled = unsettled.saturating_sub(1));
            done();
        })
    }

    fn become_present(&self, present: Present) {
        let before = std::mem::replace(&mut *self.0.present.lock(), present);
        // The function of its token may run now, so the lock is released before.
        drop(before);
    }
}

impl NotificationSink for Tracked {
    fn offer(&self, notification: Notification) {
        self.offer_all(&mut VecDeque::from([notification]));
    }

    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        // The token of a replay belongs to that replay.
        for notification in notifications.iter_mut().filter(|one| one.cause != Cause::Replay) {
            notification.initial = notification.initial.take().map(|initial| self.initials.track(initial));
        }
        self.sink.offer_all(notifications);
    }

    fn listed(&self, initial: SyncToken) {
        let initial = self.initials.track(initial);
        self.initials.become_present(Present::Listed);
        self.sink.listed(initial);
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, time::Instant};

    use informer_types::{Body, Change, Header, Object, Source, Tracer};

    use super::*;
    use crate::{
        app::{
            keeping::View,
            successor::{Received, Successor},
        },
        config,
    };

    /// Keeps what it receives.
    #[derive(Default)]
    struct Keeper(Mutex<Vec<Notification>>);

    impl NotificationSink for Keeper {
        fn offer(&self, notification: Notification) {
            self.0.lock().push(notification);
        }
    }

    fn object(version: &str) -> Arc<Object> {
        let header = Header {
            name: "web".into(),
            uid: "u".into(),
            resource_version: version.into(),
            ..Header::default()
        };
        Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
    }

    /// The successor turns the addition of a changed object into an update with another cause.
    #[test]
    fn the_token_of_a_replay_does_not_count_as_the_token_of_the_first_list() {
        let (initials, keeper) = (Initials::new(), Arc::new(Keeper::default()));
        let view = View::of(&config::Subscription::default());
        let received = Received { cached: vec![object("1")], newer: HashMap::new(), until: None, view };
        let source = Source::new("v1/pods".parse().unwrap());
        let successor = Successor::new(source.clone(), received, Arc::clone(&keeper) as _, Tracer::default());
        let sink = initials.before(Arc::new(successor));
        let offer = |version: &str, cause: Cause| {
            sink.offer(Notification {
                source: source.clone(),
                change: Change::Added { object: object(version) },
                cause,
                initial: Some(SyncToken::new(|| {})),
                observed: Instant::now().into(),
            });
        };

        offer("2", Cause::Replay);
        assert_eq!(keeper.0.lock().len(), 1);
        assert!(initials.are_settled());

        offer("3", Cause::Initial);
        assert!(!initials.are_settled());
        initials.begin();
        keeper.0.lock().clear();
        assert!(initials.are_settled());
    }
}
