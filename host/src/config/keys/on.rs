//! `[[plugin.on]]`

use std::time::Duration;

use informer_dispatch::When;
use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer};

use crate::config::{
    key::{
        Key, List, Section,
        Shown::{ByDefault, Example, Required},
    },
    plugin::{Enqueue, Initial, Relist},
    table::Located,
    value::{EventKind, Name, Scalar},
};

/// `[[plugin.on]]` as it is written.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct OnKeys {
    pub(in crate::config) watch: Option<Located<Gvr>>,
    pub(in crate::config) events: Option<Located<Vec<Located<EventKind>>>>,
    pub(in crate::config) namespaces: Option<Located<Vec<Located<Name>>>>,
    pub(in crate::config) labels: LabelSelector,
    pub(in crate::config) fields: Option<Located<FieldSelector>>,
    pub(in crate::config) when: Option<When>,
    pub(in crate::config) changed: Option<Located<Vec<Located<Pointer>>>>,
    pub(in crate::config) resync: Option<Located<Duration>>,
    pub(in crate::config) relist: Relist,
    pub(in crate::config) initial: Initial,
    pub(in crate::config) enqueue: Enqueue,
}

type K<V> = Key<OnKeys, V>;
type L<V> = List<OnKeys, V>;

pub(super) static ON: Section<OnKeys> = Section {
    doc: "One subscription: which changes of one watch the plugin is notified of. At least one is needed, and each watch at \
          most once. A change must satisfy all conditions. An object that comes to match is delivered as an addition; an \
          object that no longer matches is delivered as a deletion.",
    keys: &[
        &K::<Gvr> {
            name: "watch",
            doc: "The resource, as `gvr` of its [[watch]].",
            shown: Required("\"apps/v1/deployments\""),
            bounds: None,
            set: |keys, it| keys.watch = Some(it),
        },
        &L::<EventKind> {
            name: "events",
            doc: "The kinds of changes to deliver.",
            shown: ByDefault(|_| "[\"add\", \"update\", \"delete\"]".to_owned()),
            set: |keys, it| keys.events = Some(it),
        },
        &L::<Name> {
            name: "namespaces",
            doc: "Only objects of these namespaces. The watch must cover each of them. Default: all namespaces that the \
                  watch covers.",
            shown: Example("[\"default\", \"shop\"]"),
            set: |keys, it| keys.namespaces = Some(it),
        },
        &K::<LabelSelector> {
            name: "labels",
            doc: "Only objects that this label selector matches. Default: all. If no plugin reads the watch, the host \
                  requests only what its subscriptions need: the label requirements, metadata.name and \
                  metadata.namespace that all of them have in common, and the namespaces that any of them names. \
                  `informer check` prints the result.",
            shown: Example("\"app=web,tier in (a, b),!legacy\""),
            bounds: None,
            set: |keys, it| keys.labels = it.value,
        },
        &K::<FieldSelector> {
            name: "fields",
            doc: "Only objects with these fields. The host evaluates them, so any path is accepted. An absent field \
                  counts as the empty text. Default: all.",
            shown: Example("\"spec.nodeName=node-1,status.phase!=Failed\""),
            bounds: None,
            set: |keys, it| keys.fields = Some(it),
        },
        &K::<When> {
            name: "when",
            doc: "Only objects for which this CEL expression (https://cel.dev) about `object` is true. An expression \
                  that names `old` (null unless the change is an update), `event` (\"add\", \"update\" or \"delete\") or \
                  `cause` (\"live\", \"initial\", \"relist\", \"resync\" or \"replay\") is evaluated for each change \
                  instead; deletions are delivered without evaluation, unless it names `event`. If an expression fails, \
                  for example because a field is absent, it counts as true, and `informer status` shows the error: test \
                  with has(...) first. Default: all.",
            shown: Example("\"has(object.spec.replicas) && object.spec.replicas > 2\""),
            bounds: None,
            set: |keys, it| keys.when = Some(it.value),
        },
        &L::<Pointer> {
            name: "changed",
            doc: "Only updates that change the value at one of these JSON pointers. Default: all updates.",
            shown: Example("[\"/spec\", \"/metadata/labels\"]"),
            set: |keys, it| keys.changed = Some(it),
        },
        &K::<Duration> {
            name: "resync",
            doc: "How often every object is delivered again as an update. \"0s\" means never. Bounds: 0s, or 1s to 168h. \
                  Default: the period of the watch.",
            shown: Example("\"30s\""),
            bounds: None,
            set: |keys, it| keys.resync = Some(it),
        },
        &K::<Relist> {
            name: "relist",
            doc: "What to deliver after a relist: the objects that \"changed\" meanwhile, or \"all\" of them.",
            shown: ByDefault(|keys| Scalar::shown(&keys.relist)),
            bounds: None,
            set: |keys, it| keys.relist = it.value,
        },
        &K::<Initial> {
            name: "initial",
            doc: "What to do with the objects that exist when the subscription starts: \"deliver\" them as additions, or \
                  \"skip\" them.",
            shown: ByDefault(|keys| Scalar::shown(&keys.initial)),
            bounds: None,
            set: |keys, it| keys.initial = it.value,
        },
        &K::<Enqueue> {
            name: "enqueue",
            doc: "The key that a change adds to the workqueue, if the component exports `reconciler` and no `handler`: \
                  the key of the \"object\", or of its \"controller\", the owner that its metadata marks as such. Merged \
                  changes add the key of each controller that the object had.",
            shown: ByDefault(|keys| Scalar::shown(&keys.enqueue)),
            bounds: None,
            set: |keys, it| keys.enqueue = it.value,
        },
    ],
};
