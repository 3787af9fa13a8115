//! What a delivery and a key become, by what the component exports.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use informer_dispatch::{Queue, workqueue::RateLimitingQueue};
use informer_runtime::Plugin;
use informer_types::{
    Delivery, EventHandler, Failure, FailureKind, Gvr, ObjectKey, Outcome, Reconciled, Reconciler, Request,
};
use parking_lot::{Mutex, RwLock};
use tokio::{sync::watch, time::timeout};

use crate::config::{Enqueue, Subscription};

/// How long a key waits where the version in service takes none, and a delivery for room for its key: another version may
/// do otherwise, after the next reload.
const UNTIL_A_RELOAD: Duration = Duration::from_secs(1);

/// The calls of one plugin. What it exports is known after a load only, and a reload may change it, so it is decided at
/// each delivery: a component with `handler` is called; for one with `reconciler` alone the key is put into its workqueue,
/// and with that the notification counts as delivered.
pub(crate) struct Calls {
    plugin: Arc<Plugin>,
    queue: Queue,
    workqueue: RateLimitingQueue,
    /// Versions put into service.
    swaps: watch::Receiver<u64>,
    /// How many of them the queues were told of.
    noted: Mutex<u64>,
    /// Of each subscription.
    enqueue: RwLock<BTreeMap<Gvr, Enqueue>>,
}

// === impl Calls ===

impl Calls {
    /// `enqueue` of each `[[plugin.on]]`.
    pub(crate) fn new<'a>(
        plugin: Arc<Plugin>,
        (queue, workqueue): (Queue, RateLimitingQueue),
        subscriptions: impl IntoIterator<Item = &'a Subscription>,
    ) -> Self {
        let (swaps, noted) = (plugin.swaps(), Mutex::default());
        let calls = Self { plugin, queue, workqueue, swaps, noted, enqueue: RwLock::default() };
        calls.set_enqueue(subscriptions);
        calls
    }

    /// Makes keys as these say from now on; of several for one resource the last counts.
    pub(crate) fn set_enqueue<'a>(&self, subscriptions: impl IntoIterator<Item = &'a Subscription>) {
        let enqueue = subscriptions.into_iter().map(|on| (on.watch.clone(), on.enqueue));
        *self.enqueue.write() = enqueue.collect();
    }

    /// Tells the queues where another version took over. A call that fails does so before it is settled: a version may have
    /// come back because of it, and is not judged by it.
    pub(crate) fn note_swaps(&self) {
        let mut noted = self.noted.lock();
        let swaps = *self.swaps.borrow();
        if *noted < swaps {
            *noted = swaps;
            self.queue.new_version();
            self.workqueue.new_version();
        }
    }

    async fn enqueue(&self, delivery: &Delivery) -> Outcome {
        let how = self.enqueue.read().get(delivery.notification.source.gvr()).copied().unwrap_or_default();
        add(&self.workqueue, keys(how, delivery)).await
    }
}

impl EventHandler for Calls {
    /// Point 4 of the contract: what came and went unseen is nothing to a handler.
    fn concerns(&self, delivery: &Delivery) -> bool {
        !(delivery.unseen && self.plugin.handles())
    }

    async fn handle(&self, delivery: Delivery) -> Outcome {
        loop {
            if self.plugin.only_reconciles() {
                // A key that is there already is not added twice.
                if let Ok(outcome) = timeout(UNTIL_A_RELOAD, self.enqueue(&delivery)).await {
                    return outcome;
                }
            } else if !self.concerns(&delivery) {
                // A reload brought the handler since that was asked, so it is asked again.
                return Outcome::NotCalled;
            } else if let Some(outcome) = self.plugin.handle_if_exported(&delivery).await {
                if matches!(outcome, Outcome::Retry { .. }) {
                    self.note_swaps();
                }
                return outcome;
            }
        }
    }
}

impl Reconciler for Calls {
    async fn reconcile(&self, request: Request) -> Reconciled {
        if self.plugin.handles() && !self.plugin.reconciles() {
            // Asked here too: what is left of a reconciler takes no turn from the calls that there are.
            return Reconciled::NotCalled(UNTIL_A_RELOAD);
        }
        let reconciled = self.plugin.reconcile_if_exported(&request).await;
        if matches!(reconciled, Some(Reconciled::Retry { .. })) {
            self.note_swaps();
        }
        reconciled.unwrap_or(Reconciled::NotCalled(UNTIL_A_RELOAD))
    }
}

/// Waits for room: what comes meanwhile merges in the plugin's queue, and nothing is lost.
async fn add(workqueue: &RateLimitingQueue, keys: Vec<ObjectKey>) -> Outcome {
    for key in keys {
        match workqueue.add_when_room(&key.to_string()).await {
            Ok(true) => {}
            // The plugin is being removed.
            Ok(false) => return Outcome::NotCalled,
            Err(error) => {
                let failure = Failure::new(FailureKind::Host, error.to_string());
                return Outcome::Permanent { failure };
            }
        }
    }
    Outcome::Acknowledged
}

/// The keys of a delivery. An object that went from one controller to another concerns both, and those it had in between
/// while the delivery waited.
fn keys(how: Enqueue, delivery: &Delivery) -> Vec<ObjectKey> {
    let change = &delivery.notification.change;
    match how {
        // Nobody was told that it is there.
        Enqueue::Object if delivery.unseen => Vec::new(),
        Enqueue::Object => vec![change.object().key()],
        // Those of the change itself are among them, where they were kept.
        Enqueue::Controller if delivery.controllers.is_empty() => change.controllers(),
        Enqueue::Controller => delivery.controllers.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        num::{NonZeroU32, NonZeroUsize},
        time::Instant,
    };

    use informer_dispatch::workqueue::BucketRateLimiter;
    use informer_types::{Body, Cause, Change, Header, Notification, Object, Owner, Source};

    use super::*;

    fn owned(name: &str, controller: Option<&str>) -> Arc<Object> {
        // An owner that is not the controller concerns nobody.
        let owner = |name| Owner { kind: "ReplicaSet".into(), name, ..Owner::default() };
        let other = owner("other".into());
        let controller = controller.map(|name| Owner { controller: true, ..owner(name.into()) });
        let header = Header {
            namespace: "shop".into(),
            name: name.into(),
            owners: std::iter::once(other).chain(controller).collect(),
            ..Header::default()
        };
        Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
    }

    fn delivery(change: Change, controllers: Vec<ObjectKey>) -> Delivery {
        let notification = Notification {
            source: Source::new(Gvr::new("", "v1", "pods")),
            change,
            cause: Cause::Live,
            initial: None,
            observed: Instant::now(),
        };
        Delivery { notification, attempt: 1, queued: Duration::ZERO, controllers, unseen: false }
    }

    fn shown(how: Enqueue, change: &Change) -> Vec<String> {
        keys(how, &delivery(change.clone(), Vec::new())).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_key_is_that_of_the_object_or_of_its_controller() {
        let object = owned("web-1", Some("web"));
        for change in [
            Change::Added { object: Arc::clone(&object) },
            Change::Updated { old: Arc::clone(&object), new: Arc::clone(&object) },
            Change::Deleted { object, final_state_known: false },
        ] {
            assert_eq!(shown(Enqueue::Object, &change), ["shop/web-1"]);
            assert_eq!(shown(Enqueue::Controller, &change), ["shop/web"]);
        }
    }

    #[test]
    fn an_object_without_a_controller_concerns_nobody_and_one_that_changed_hands_both() {
        let (none, web, api) = (owned("p", None), owned("p", Some("web")), owned("p", Some("api")));

        assert!(shown(Enqueue::Controller, &Change::Added { object: Arc::clone(&none) }).is_empty());
        let taken = Change::Updated { old: Arc::clone(&web), new: api };
        assert_eq!(shown(Enqueue::Controller, &taken), ["shop/web", "shop/api"]);
        let let_go = Change::Updated { old: web, new: none };
        assert_eq!(shown(Enqueue::Controller, &let_go), ["shop/web"]);
    }

    #[test]
    fn controllers_that_were_merged_away_are_concerned_too() {
        let kept = vec![ObjectKey::new("shop", "web"), ObjectKey::new("shop", "api")];
        let deleted = Change::Deleted { object: owned("p", None), final_state_known: true };
        let delivery = delivery(deleted, kept.clone());

        assert_eq!(keys(Enqueue::Controller, &delivery), kept);
        assert_eq!(keys(Enqueue::Object, &delivery), [ObjectKey::new("shop", "p")]);
    }

    #[tokio::test]
    async fn a_key_counts_as_enqueued_only_where_the_workqueue_took_it() {
        let limiter = BucketRateLimiter::new(1.0, NonZeroU32::MIN);
        let workqueue = RateLimitingQueue::new(NonZeroUsize::MIN, limiter);
        let key = || vec![ObjectKey::new("shop", "p")];
        assert_eq!(add(&workqueue, key()).await, Outcome::Acknowledged);
        let long = vec![ObjectKey::new("shop", "p".repeat(2000).as_str())];
        assert!(matches!(add(&workqueue, long).await, Outcome::Permanent { .. }));

        workqueue.close();
        assert_eq!(add(&workqueue, key()).await, Outcome::NotCalled, "its dead letter is not withdrawn");
    }

    #[test]
    fn what_came_and_went_unseen_concerns_its_controllers_alone() {
        let deleted = Change::Deleted { object: owned("p", Some("web")), final_state_known: true };
        let delivery = Delivery { unseen: true, ..delivery(deleted, vec![ObjectKey::new("shop", "web")]) };

        assert_eq!(keys(Enqueue::Controller, &delivery), [ObjectKey::new("shop", "web")]);
        assert!(keys(Enqueue::Object, &delivery).is_empty());
    }
}
