//! The keys that the notifications of a plugin become.

use std::{collections::BTreeMap, sync::Arc};

use informer_types::{Change, Gvr, Object, ObjectKey, Source, WorkKey};
use parking_lot::RwLock;

use crate::config::{Enqueue, Subscription};

/// The keys that the notifications of a plugin become: `enqueue` and `resource-in-key` of each subscription. Clones share one set of
/// rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Enqueues(Arc<RwLock<BTreeMap<Gvr, Rule>>>);

/// The keys that the notifications of a subscription become.
#[derive(Clone, Debug, Default)]
struct Rule {
    enqueue: Enqueue,
    /// The resource, if keys begin with it.
    resource: Option<Arc<str>>,
}

// === impl Enqueues ===

impl Enqueues {
    /// The keys as these subscriptions define them.
    pub(crate) fn of<'a>(subscriptions: impl IntoIterator<Item = &'a Subscription>) -> Self {
        let enqueues = Self::default();
        enqueues.set(subscriptions);
        enqueues
    }

    /// Makes keys as these subscriptions define from now on. If there are several for one resource, the last one wins. The rules of other
    /// resources stay, because a notification of a removed subscription may be pending for any time.
    pub(crate) fn set<'a>(&self, subscriptions: impl IntoIterator<Item = &'a Subscription>) {
        self.0.write().extend(subscriptions.into_iter().map(|on| (on.watch.clone(), Rule::of(on))));
    }

    /// The keys that a change concerns.
    pub(crate) fn keys(&self, source: &Source, change: &Change) -> Vec<WorkKey> {
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
        let enqueues = Enqueues::of([&Subscription { watch: pods.clone(), ..on }]);
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

    #[test]
    fn what_is_pending_of_a_removed_subscription_becomes_its_key_however_often_others_change() {
        let pods = Gvr::new("", "v1", "pods");
        let on =
            Subscription { watch: pods.clone(), enqueue: Enqueue::Controller, ..Subscription::default() };
        let enqueues = Enqueues::of([&on]);
        let change = Change::Added { object: owned("a", Some("web")) };
        let key = || enqueues.keys(&Source::new(pods.clone()), &change)[0].to_string();

        enqueues.set([]);
        enqueues.set([&Subscription { watch: Gvr::new("", "v1", "secrets"), ..Subscription::default() }]);
        assert_eq!(key(), "shop/web");

        enqueues.set([&Subscription { enqueue: Enqueue::Object, ..on }]);
        assert_eq!(key(), "shop/a", "the subscription is back with another key");
    }
}
