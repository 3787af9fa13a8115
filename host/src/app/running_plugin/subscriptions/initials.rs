//! The initial notifications of a subscription. Several informers may serve the subscription one after the other.

use std::{collections::VecDeque, sync::Arc};

use informer_types::{Cause, Notification, NotificationSink, SyncToken};
use parking_lot::Mutex;
use tokio::sync::watch;

/// Tracks which initial notifications of a subscription are not settled. An informer that replaces another one does not deliver
/// unchanged objects again, so the registration of the new informer does not wait for the notifications of the previous informer. A
/// replay before the subscription is announced counts too ([`hold`](Self::hold)). Clones share one state.
#[derive(Clone)]
pub(super) struct Initials(Arc<Shared>);

struct Shared {
    /// The number of listeners whose initial notifications are not settled, plus the number of replays that are not settled.
    unsettled: watch::Sender<usize>,
    /// The token of the present listener, from its first initial notification until its list ends.
    listing: Mutex<Option<SyncToken>>,
}

/// Receives the notifications of the listener before every other sink. Each notification still has the cause that the listener gave it,
/// so a token with the cause `initial` belongs to the first list.
struct Tracked {
    sink: Arc<dyn NotificationSink>,
    initials: Initials,
}

// === impl Initials ===

impl Initials {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared { unsettled: watch::Sender::new(0), listing: Mutex::default() }))
    }

    /// The sink for the listener of the subscription. It passes everything on to the given sink.
    pub(super) fn before(&self, sink: Arc<dyn NotificationSink>) -> Arc<dyn NotificationSink> {
        Arc::new(Tracked { sink, initials: self.clone() })
    }

    /// A token for notifications that count as initial ones. They are settled once the token and its clones are dropped.
    pub(super) fn hold(&self) -> SyncToken {
        self.count(|| {})
    }

    /// The present listener offers no more initial notifications, because its list or its informer has ended.
    pub(super) fn end_list(&self) {
        let ended = self.0.listing.lock().take();
        // The lock is released first, because this drop may run the function of the token.
        drop(ended);
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

    /// Returns the tracked token in exchange for the token of a listener. The token of the listener is dropped once the tracked token is
    /// settled.
    fn track(&self, initial: SyncToken) -> SyncToken {
        let mut listing = self.0.listing.lock();
        listing.get_or_insert_with(|| self.count(move || drop(initial))).clone()
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
}

impl NotificationSink for Tracked {
    fn offer(&self, notification: Notification) {
        self.offer_all(&mut VecDeque::from([notification]));
    }

    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        for notification in notifications.iter_mut().filter(|one| one.cause == Cause::Initial) {
            notification.initial = notification.initial.take().map(|initial| self.initials.track(initial));
        }
        self.sink.offer_all(notifications);
    }

    fn listed(&self, initial: SyncToken) {
        let initial = self.initials.track(initial);
        self.initials.end_list();
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

    /// Keeps each notification.
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
        initials.end_list();
        keeper.0.lock().clear();
        assert!(initials.are_settled());
    }
}
