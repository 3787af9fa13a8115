//! The calls of one plugin, and whether it gets notifications or keys.

use std::{collections::BTreeMap, sync::Arc};

use informer_dispatch::{Queue, workqueue::RateLimitingQueue};
use informer_runtime::Plugin;
use informer_types::{
    Change, Delivery, EventHandler, Failure, Gvr, Object, ObjectKey, Outcome, Reconciled, Reconciler,
    Request, Source, WorkKey,
};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::{Repeats, witness::WitnessStand};
use crate::config::{Enqueue, Subscription};

/// The keys that the notifications of a plugin become: `enqueue` and `resource-in-key` of each subscription.
#[derive(Clone, Debug, Default)]
struct Enqueues(Arc<RwLock<BTreeMap<Gvr, Rule>>>);

/// The keys that the notifications of a subscription become.
#[derive(Clone, Debug, Default)]
struct Rule {
    enqueue: Enqueue,
    /// The resource, if keys begin with it.
    resource: Option<Arc<str>>,
}

/// The calls of one plugin. When a version is put into service, its exports decide whether the plugin gets notifications or
/// keys: see [`Queue::decide`].
pub(crate) struct Calls {
    plugin: Arc<Plugin>,
    queue: Queue,
    workqueue: RateLimitingQueue,
    signals: RateLimitingQueue,
    repeats: Repeats,
    enqueues: Enqueues,
    /// The number of versions put into service so far.
    swaps: watch::Receiver<u64>,
    /// The number of swaps that the queues were notified of.
    noted: Mutex<u64>,
    stand: WitnessStand,
}

/// The subject of a call of the handler, after the plugin took the delivery.
struct Subject {
    source: Source,
    object: Arc<Object>,
    /// For a witness, if there is one.
    seen: Option<Delivery>,
}

// === impl Subject ===

impl Subject {
    fn of(delivery: &Delivery, stand: &WitnessStand) -> Self {
        let notification = &delivery.notification;
        Self {
            source: notification.source.clone(),
            object: Arc::clone(notification.change.object()),
            seen: stand.is_taken().then(|| delivery.clone()),
        }
    }
}

// === impl Enqueues ===

impl Enqueues {
    /// Replaces all subscriptions. If there are several for one resource, the last one wins.
    fn set<'a>(&self, subscriptions: impl IntoIterator<Item = &'a Subscription>) {
        *self.0.write() = subscriptions.into_iter().map(|on| (on.watch.clone(), Rule::of(on))).collect();
    }

    /// The keys that a change concerns.
    fn keys(&self, source: &Source, change: &Change) -> Vec<WorkKey> {
        let rules = self.0.read();
        match rules.get(source.gvr()) {
            Some(rule) => rule.keys(change),
            None => Rule::default().keys(change),
        }
    }
}

// === impl Rule ===

impl Rule {
    fn of(on: &Subscription) -> Self {
        let resource = on.resource_in_key.then(|| on.watch.to_string().into());
        Self { enqueue: on.enqueue, resource }
    }

    /// The keys that a change concerns. If an object changed its controller, both controllers are concerned.
    fn keys(&self, change: &Change) -> Vec<WorkKey> {
        match self.enqueue {
            Enqueue::Object => vec![WorkKey { of: self.resource.clone(), key: change.object().key() }],
            Enqueue::Controller => {
                let mut keys: Vec<_> = change.states().filter_map(|object| self.controller(object)).collect();
                keys.dedup();
                keys
            }
        }
    }

    /// The key of the controlling owner. An owner is in the namespace of its object or cluster-scoped; only its resource shows which.
    /// Cluster-scoped controllers are rare (nodes that own static pods), so all owners are taken to be in the object's namespace.
    fn controller(&self, object: &Object) -> Option<WorkKey> {
        let owner = object.controller()?;
        let of = self.resource.is_some().then(|| format!("{}/{}", owner.api_version, owner.kind).into());
        Some(WorkKey { of, key: ObjectKey::new(object.namespace(), &*owner.name) })
    }
}

// === impl Calls ===

impl Calls {
    /// Puts the workqueue beside the queue, and takes the queue of signals and the repeats along. `subscriptions` define which keys a
    /// notification concerns.
    pub(crate) fn new<'a>(
        plugin: Arc<Plugin>,
        (queue, workqueue, signals): (Queue, RateLimitingQueue, RateLimitingQueue),
        repeats: Repeats,
        subscriptions: impl IntoIterator<Item = &'a Subscription>,
        stand: WitnessStand,
    ) -> Arc<Self> {
        let enqueues = Enqueues::default();
        enqueues.set(subscriptions);
        let keys_of = enqueues.clone();
        let queue = queue.with_keys(workqueue.clone(), move |source, change| keys_of.keys(source, change));
        let swaps = plugin.swaps();
        Arc::new(Self {
            plugin,
            queue,
            workqueue,
            signals,
            repeats,
            enqueues,
            swaps,
            noted: Mutex::default(),
            stand,
        })
    }

    /// A call for a notification returned an outcome.
    fn handled(&self, Subject { source, object, seen }: &Subject, outcome: &Outcome) {
        self.repeats.settle(source, || object.key(), outcome);
        if let Some(seen) = seen {
            self.stand.see(|witness| witness.handled(self.plugin.name(), seen, outcome));
        }
    }

    pub(crate) fn repeats(&self) -> &Repeats {
        &self.repeats
    }

    /// Makes keys as these subscriptions define from now on.
    pub(crate) fn set_enqueue<'a>(&self, subscriptions: impl IntoIterator<Item = &'a Subscription>) {
        self.enqueues.set(subscriptions);
    }

    /// Notifies the queues of the version in service. It is called after each swap, before the first call of the version, and
    /// before a failed call is settled: the call may have brought back an earlier version, which must not be judged by it.
    ///
    /// # Ordering
    /// After the last of several concurrent swaps, the queues are as the version in service needs them.
    pub(crate) fn note_swaps(&self) {
        let mut noted = self.noted.lock();
        let swaps = *self.swaps.borrow();
        let (handles, reconciles) = (self.plugin.handles(), self.plugin.reconciles());
        // Without a version in service the queues stay as they are.
        if handles || reconciles {
            self.queue.decide(handles, reconciles);
        }
        if *noted < swaps {
            *noted = swaps;
            self.queue.new_version();
            self.workqueue.new_version();
            self.signals.new_version();
        }
    }
}

impl EventHandler for Calls {
    fn takes_batches(&self) -> bool {
        self.plugin.takes_batches()
    }

    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        let subject = Subject::of(&delivery, &self.stand);
        let outcome = self.plugin.handle(delivery).await;
        if let Some(outcome) = &outcome {
            self.handled(&subject, outcome);
        }
        if matches!(outcome, None | Some(Outcome::Retry { .. })) {
            self.note_swaps();
        }
        outcome
    }

    async fn handle_batch(&self, deliveries: Vec<Delivery>) -> Option<Result<Vec<Outcome>, Failure>> {
        let subjects: Vec<_> = deliveries.iter().map(|delivery| Subject::of(delivery, &self.stand)).collect();
        let outcomes = self.plugin.handle_batch(deliveries).await;
        if let Some(Ok(outcomes)) = &outcomes {
            subjects.iter().zip(outcomes).for_each(|(subject, outcome)| self.handled(subject, outcome));
        }
        let is_retry = |outcome: &Outcome| matches!(outcome, Outcome::Retry { .. });
        if !matches!(&outcomes, Some(Ok(outcomes)) if !outcomes.iter().any(is_retry)) {
            self.note_swaps();
        }
        outcomes
    }
}

impl Reconciler for Calls {
    async fn reconcile(&self, request: Request) -> Option<Reconciled> {
        let seen = self.stand.is_taken().then(|| request.clone());
        let reconciled = self.plugin.reconcile(request).await;
        if let (Some(seen), Some(reconciled)) = (&seen, &reconciled) {
            self.stand.see(|witness| witness.reconciled(self.plugin.name(), seen, reconciled));
        }
        if matches!(reconciled, None | Some(Reconciled::Retry { .. })) {
            self.note_swaps();
        }
        reconciled
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header, Owner};

    use super::*;

    fn owned(name: &str, controller: Option<&str>) -> Arc<Object> {
        // An owner that is not the controller is not concerned.
        let owner = |name| Owner {
            api_version: "apps/v1".into(),
            kind: "ReplicaSet".into(),
            name,
            ..Owner::default()
        };
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

    fn shown(enqueue: Enqueue, change: &Change) -> Vec<String> {
        shown_by(Subscription { enqueue, ..Subscription::default() }, change)
    }

    fn shown_by(on: Subscription, change: &Change) -> Vec<String> {
        let pods = Gvr::new("", "v1", "pods");
        let enqueues = Enqueues::default();
        enqueues.set([&Subscription { watch: pods.clone(), ..on }]);
        enqueues.keys(&Source::new(pods), change).iter().map(ToString::to_string).collect()
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
    fn an_object_without_a_controller_has_no_key_and_one_that_changed_its_controller_has_two() {
        let (none, web, api) = (owned("p", None), owned("p", Some("web")), owned("p", Some("api")));

        assert!(shown(Enqueue::Controller, &Change::Added { object: Arc::clone(&none) }).is_empty());
        let taken = Change::Updated { old: Arc::clone(&web), new: api };
        assert_eq!(shown(Enqueue::Controller, &taken), ["shop/web", "shop/api"]);
        let released = Change::Updated { old: web, new: none };
        assert_eq!(shown(Enqueue::Controller, &released), ["shop/web"]);
    }

    #[test]
    fn a_key_names_what_it_is_of_if_the_subscription_wants_it() {
        let object = owned("web-1", Some("web"));
        let named = |enqueue| Subscription { enqueue, resource_in_key: true, ..Subscription::default() };
        let added = Change::Added { object: Arc::clone(&object) };
        assert_eq!(shown_by(named(Enqueue::Object), &added), ["v1/pods shop/web-1"]);
        assert_eq!(shown_by(named(Enqueue::Controller), &added), ["apps/v1/ReplicaSet shop/web"]);
        let updated = Change::Updated { old: Arc::clone(&object), new: object };
        assert_eq!(shown_by(named(Enqueue::Controller), &updated), ["apps/v1/ReplicaSet shop/web"]);
    }
}
