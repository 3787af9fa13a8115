//! `[[plugin.on]]`: the changes of one watch that a plugin receives.

use std::{sync::LazyLock, time::Duration};

use informer_dispatch::{Events, FilterConfig, Initial, MAX_SETTLE, When};
use informer_types::{AnnotationSelector, FieldSelector, Gvr, LabelSelector, Part};

use crate::config::{
    key::{Draft, Key, Section},
    problem::{Fault, Problems},
    value::{ChangedPart, Choice, Holds, Name, ReadPart, outside as out_of_bounds},
    watch::{OF_NAMESPACES, Watch, never_if_zero, resync_fault, whole_object},
    watched::Watched,
};

/// A call takes milliseconds, and changes merge during calls anyway. A longer time would delay an object that is never quiet by more
/// than ten minutes.
const SETTLE: (Duration, Duration) = (Duration::from_millis(10), MAX_SETTLE);

/// The changes of one watch that a plugin receives.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// The resource, or a pattern; it is watched.
    pub watch: Gvr,
    /// Which objects and changes are delivered. At least one kind of change is. The watch covers its namespaces and keeps its
    /// fields.
    pub filter: FilterConfig,
    /// The resync period of the subscription, or else of the watch; `None` means never.
    pub resync: Option<Duration>,
    /// The objects that are delivered after a relist.
    pub relist: Relist,
    /// How long an object must stay unchanged before its change is delivered; zero means that changes are delivered at once.
    pub settle: Duration,
    /// The key that a change adds to the workqueue, if the component has a reconciler and no handler.
    pub enqueue: Enqueue,
    /// True if keys begin with their resource.
    pub resource_in_key: bool,
    /// What the plugin reads of the objects, besides what identifies them.
    pub reads: Reading,
    /// Objects that meet this condition are read whole. It names no variable but `object`.
    pub whole_if: Option<When>,
}

/// What a plugin reads of the objects of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// What its component declares. A component that declares nothing may read everything.
    #[default]
    AsDeclared,
    /// Everything.
    All,
    /// These parts.
    Parts(Vec<Part>),
}

/// The objects that are delivered after a relist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relist {
    /// The objects that changed meanwhile (D-5).
    #[default]
    Changed,
    /// All objects, as client-go does.
    All,
}

/// The key that a change adds to the workqueue of a component that exports `reconciler` and no `handler`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enqueue {
    /// The key of the object.
    #[default]
    Object,
    /// The key of its controlling owner, which is assumed to be in the same namespace.
    Controller,
}

/// An element of `events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventKind {
    Add,
    Update,
    Delete,
}

type K<V> = Key<Subscription, V>;

pub(super) static ON: LazyLock<Section<Subscription>> = LazyLock::new(|| {
    Section {
    doc: "One subscription: which changes of one watch the plugin is notified of. At least one is needed, \
          and each watch at most once. A change must satisfy all conditions. An object that begins to match \
          is delivered as an addition; an object that no longer matches is delivered as a deletion.",
    keys: vec![
        K::<Gvr>::new("watch", |on| &mut on.watch)
            .required("\"apps/v1/deployments\"")
            .doc("The resource, as `gvr` of its [[watch]], by any of its names."),
        K::<Vec<EventKind>>::new("events", |on| &mut on.filter.events)
            .some_distinct("all three")
            .doc("The kinds of changes to deliver."),
        K::<Vec<Name>>::new("namespaces", |on| &mut on.filter.namespaces)
            .some_distinct("all that the watch covers")
            .example("[\"default\", \"shop\"]")
            .doc(
                "Only objects of these namespaces. The watch must cover each of them. Default: all \
                 namespaces that the watch covers.",
            ),
        K::<LabelSelector>::new("namespaces-labels", |on| &mut on.filter.namespaces_labels)
            .example("\"team=shop,!legacy\"")
            .doc(
                "Only objects of namespaces whose labels this selector matches. When a namespace begins to \
                 match, its objects are delivered as additions; when it no longer matches, as deletions. The \
                 host therefore watches all namespaces, with the settings of the [[watch]] of \
                 `v1/namespaces` or of the pattern that stands for it. If there is neither, the host requests \
                 only the metadata of namespaces. The subscription begins when all namespaces have been \
                 listed. Default: all.",
            ),
        K::<LabelSelector>::new("labels", |on| &mut on.filter.labels)
            .example("\"app=web,tier in (a, b),!legacy\"")
            .doc(
                "Only objects that this label selector matches. Default: all. If no plugin reads the \
                 watch, the host requests only what its subscriptions need: the label requirements, \
                 metadata.name and metadata.namespace that all of them have in common, and the namespaces \
                 that any of them names. `informer check` prints the result.",
            ),
        K::<AnnotationSelector>::new("annotations", |on| &mut on.filter.annotations)
            .example("\"reloader.stakater.com/auto=true,!legacy\"")
            .doc(
                "Only objects whose annotations this selector matches, in the syntax of a label selector. \
                 The host evaluates it. Default: all.",
            ),
        K::<FieldSelector>::new("fields", |on| &mut on.filter.fields)
            .example("\"spec.nodeName=node-1,status.phase!=Failed\"")
            .doc(
                "Only objects with these fields. The host evaluates them, so any path is accepted. An \
                 absent field counts as the empty text. Default: all.",
            ),
        K::<When>::new("when", |on| &mut on.filter.when)
            .example("\"has(object.spec.replicas) && object.spec.replicas > 2\"")
            .doc(
                "Only objects for which this CEL expression (https://cel.dev) about `object` is true. An \
                 expression that names `old` (null unless the change is an update), `event` (\"add\", \
                 \"update\" or \"delete\") or `cause` (\"live\", \"initial\", \"relist\", \"resync\" or \
                 \"replay\") is evaluated for each change instead; deletions are delivered without \
                 evaluation, unless it names `event`. If an expression fails, for example because a field \
                 is absent, it counts as true, and `informer status` shows the error: test with has(...) \
                 first. Default: all.",
            ),
        K::<Vec<ChangedPart>>::new("changed", |on| &mut on.filter.changed)
            .each(|part| {
                let ChangedPart::At(pointer) = part else { return None };
                whole_object(pointer, "leave `changed` out, for each update has its own resourceVersion")
            })
            .some_distinct("every update")
            .example("[\"generation\", \"/metadata/labels\"]")
            .doc(
                "Only updates that change the value at one of these JSON pointers, or with \"generation\" \
                 those that change metadata.generation, which the API server raises with the spec. For \
                 objects without a generation, such as ConfigMaps, \"generation\" means any change outside \
                 of metadata and status. Default: all updates.",
            ),
        K::<Duration>::new("resync", |on| &mut on.resync).check(resync_fault).example("\"30s\"").doc(
            "How often every object is delivered again as an update. \"0s\" means never. Bounds: 0s, or \
             1s to 168h. Default: the period of the watch.",
        ),
        K::<Duration>::new("settle", |on| &mut on.settle).check(settle_fault).also("\"2s\"").doc(
            "How long an object must stay unchanged before its change is delivered. Each further change \
             starts this time anew, and all of them become one notification, or add their keys once. An \
             object that never stays unchanged is delivered ten times this time after its first change. \
             Deletions, first lists, resyncs and replays are delivered at once. It cannot be combined with \
             delivery = \"every\". Bounds: 0s, or 10ms to 1m.",
        ),
        K::<Relist>::new("relist", |on| &mut on.relist).doc(
            "What to deliver after a relist: the objects that \"changed\" meanwhile, or \"all\" of them.",
        ),
        K::<Initial>::new("initial", |on| &mut on.filter.initial).doc(
            "What to do with the objects that exist when the subscription starts: \"deliver\" them as \
             additions, \"skip\" them, or deliver only those that \"changed\" since the plugin acknowledged \
             them, in this process or an earlier one: as additions with the cause `initial`, and deletions \
             of objects that are gone. For this the host keeps about 60 bytes per object under `state-dir`. \
             A component without `handler` receives the keys of all objects. A handler that adds keys must \
             itself keep the pending work, because keys do not survive a restart.",
        ),
        K::<Enqueue>::new("enqueue", |on| &mut on.enqueue).doc(
            "The key that a change adds to the workqueue, if the component exports `reconciler` and no \
             `handler`: the key of the \"object\", or of its \"controller\", the owner that its metadata \
             marks as such. Merged changes add the key of each controller that the object had.",
        ),
        K::<bool>::new("resource-in-key", |on| &mut on.resource_in_key).doc(
            "Keys begin with their resource, so that objects of different resources with the same name have \
             different keys: `v1/pods shop/web`, or `apps/v1/ReplicaSet shop/web` for a controller. \
             Otherwise a key is `shop/web`.",
        ),
        K::<Vec<ReadPart>>::new("reads", |on| &mut on.reads)
            .each(ReadPart::whole_object)
            .distinct()
            .example("[\"/spec/replicas\", \"sha256:/data\"]")
            .doc(
                "What the plugin reads of the objects, besides what identifies them (see `keep` of [[watch]]): JSON pointers, or \
                 \"all\". With \"sha256:\" before a pointer only a digest of the value is kept, which shows whether the value \
                 changed; \"sha1-pairs:\" and \"sha1-base64-pairs:\" are the digests of stakater/Reloader for ConfigMaps and Secrets. If all plugins that use a watch say what they read, and the watch has neither `keep` nor `drop` nor \
                 metadata-only, the host keeps nothing else, and what the conditions here and the indexes of the watch need; \
                 `informer check` prints the result. A read of anything else is the error `invalid`, which names the pointer. Default: what \
                 the component declares, which `informer inspect` shows, and \"all\" if it declares nothing.",
            ),
        K::<When>::new("whole-if", |on| &mut on.whole_if)
            .example("\"has(object.metadata.annotations)\"\nreads = [\"/metadata/annotations\"]")
            .doc(
                "With `reads`: objects for which this CEL expression about `object` is true are read, and kept, as a whole. An \
                 expression that fails counts as true. Default: none are.",
            ),
    ],
}
});

// === impl Subscription ===

impl Subscription {
    /// Returns true if the labels of namespaces decide which objects are delivered.
    pub fn follows_namespaces(&self) -> bool {
        !self.filter.namespaces_labels.is_empty()
    }

    /// Returns true if the namespace of an object decides whether it is delivered.
    pub fn selects_by_namespace(&self) -> bool {
        self.follows_namespaces() || !self.filter.namespaces.is_empty()
    }

    /// Reads these parts, because the component declares them. They apply only if the configuration says nothing.
    pub(super) fn declare(&mut self, parts: Vec<Part>) {
        if self.reads == Reading::AsDeclared {
            self.reads = Reading::Parts(parts);
            self.filter.changed.partial = self.filter.changed.generation;
        }
    }

    /// The subscription to one resource of its pattern, which this watch serves.
    pub fn of_pattern(&self, pattern: &Watch, watch: &Watch) -> Self {
        let mut on = Self { watch: watch.gvr.clone(), ..self.clone() };
        let filter = &mut on.filter;
        filter.changed.partial =
            filter.changed.generation && (on.reads.parts().is_some() || watch.keeps_part());
        // The resource may have a watch of its own, with other objects.
        if watch.labels != pattern.labels {
            filter.labels = filter.labels.clone().and(&pattern.labels);
        }
        if filter.namespaces.is_empty() && watch.namespaces != pattern.namespaces {
            filter.namespaces = pattern.namespaces.iter().cloned().collect();
        }
        on
    }
}

// === impl Reading ===

impl Reading {
    /// The parts. Returns `None` if they are not limited.
    pub fn parts(&self) -> Option<&[Part]> {
        match self {
            Self::Parts(parts) => Some(parts),
            Self::AsDeclared | Self::All => None,
        }
    }
}

impl Holds<Vec<ReadPart>> for Reading {
    fn put(&mut self, parts: Vec<ReadPart>) {
        let only = |part| match part {
            ReadPart::All => None,
            ReadPart::Only(part) => Some(part),
        };
        *self = parts.into_iter().map(only).collect::<Option<_>>().map_or(Self::All, Self::Parts);
    }

    fn get(&self) -> Option<Vec<ReadPart>> {
        match self {
            Self::AsDeclared => None,
            Self::All => Some(vec![ReadPart::All]),
            Self::Parts(parts) => Some(parts.iter().cloned().map(ReadPart::Only).collect()),
        }
    }
}

impl Default for Subscription {
    /// A subscription before its keys are read. It has no resource yet.
    fn default() -> Self {
        Self {
            watch: Gvr::new("", "", ""),
            filter: FilterConfig::default(),
            resync: None,
            relist: Relist::default(),
            settle: Duration::ZERO,
            enqueue: Enqueue::default(),
            resource_in_key: false,
            reads: Reading::default(),
            whole_if: None,
        }
    }
}

// === impl Events, EventKind ===

impl Holds<Vec<EventKind>> for Events {
    fn put(&mut self, kinds: Vec<EventKind>) {
        let has = |kind| kinds.contains(&kind);
        *self =
            Self { add: has(EventKind::Add), update: has(EventKind::Update), delete: has(EventKind::Delete) };
    }

    fn get(&self) -> Option<Vec<EventKind>> {
        let kinds =
            [(self.add, EventKind::Add), (self.update, EventKind::Update), (self.delete, EventKind::Delete)];
        Some(kinds.into_iter().filter_map(|(has, kind)| has.then_some(kind)).collect())
    }
}

impl Choice for EventKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("add", Self::Add), ("update", Self::Update), ("delete", Self::Delete)];
}

// === impl Relist, Initial, Enqueue ===

impl Choice for Relist {
    const WORDS: &'static [(&'static str, Self)] = &[("changed", Self::Changed), ("all", Self::All)];
}

impl Choice for Initial {
    const WORDS: &'static [(&'static str, Self)] =
        &[("deliver", Self::Deliver), ("skip", Self::Skip), ("changed", Self::Changed)];
}

impl Choice for Enqueue {
    const WORDS: &'static [(&'static str, Self)] =
        &[("object", Self::Object), ("controller", Self::Controller)];
}

/// What is wrong with a condition for objects that are read whole.
fn whole_if_fault(on: &Subscription, watch: Option<&Watch>) -> Option<Fault> {
    let whole_if = on.whole_if.as_ref()?;
    if !whole_if.is_about_states() {
        let message = "it decides what is kept of an object, so it can name `object` only";
        return Some(Fault::new(message, "remove `old`, `event` and `cause` from it"));
    }
    if on.reads.parts().is_none() {
        let message = "every object is read as a whole without `reads`";
        return Some(Fault::new(
            message,
            "add `reads` with what the plugin reads of other objects, or remove it",
        ));
    }
    let keeps_by_itself = watch.is_some_and(|watch| !watch.keeps_by_default());
    keeps_by_itself.then(|| {
        let message = format!(
            "the [[watch]] of `{}` says itself what it keeps of every object",
            watch.map_or(&on.watch, |watch| &watch.gvr)
        );
        Fault::new(message, "remove `keep`, `drop` and metadata-only from it, or remove it here")
    })
}

/// Notes what the conditions name and the watch does not have.
fn compare(draft: &Draft<Subscription>, watch: &Watch, problems: &mut Problems<'_>) {
    let on = &draft.value;
    // An object of a namespace that is not watched would never arrive.
    for namespace in draft.items("namespaces") {
        watch.outside(&namespace.value).into_iter().for_each(|fault| problems.refuse(namespace, fault));
    }
    // A field that is not kept would be the empty text in every object.
    if let Some(fields) = draft.written("fields") {
        on.filter.fields.pointers().for_each(|pointer| watch.keeps(&pointer, fields, problems));
    }
    if let Some(annotations) = draft.written("annotations") {
        let pointers = on.filter.annotations.pointers().iter();
        pointers.for_each(|pointer| watch.keeps(pointer, annotations, problems));
    }
    for place in draft.items("changed") {
        let pointers = on.filter.changed.pointers.iter();
        if let Some(pointer) =
            pointers.filter(|own| !own.tokens().is_empty()).find(|own| own.to_string() == place.value)
        {
            watch.keeps(pointer, place, problems);
        }
    }
    for place in draft.items("reads") {
        if let Some(part) =
            on.reads.parts().into_iter().flatten().find(|part| part.to_string() == place.value)
        {
            watch.keeps(part.pointer(), place, problems);
        }
    }
}

fn settle_fault(quiet: &Duration) -> Option<Fault> {
    if quiet.is_zero() { None } else { out_of_bounds(quiet, &SETTLE) }
}

/// Judges the keys that depend on one another and on the watch. Returns `None` if the watch is missing, which is noted.
pub(super) fn subscription(
    draft: Draft<Subscription>,
    watched: &Watched,
    problems: &mut Problems<'_>,
) -> Option<Subscription> {
    let on = &draft.value;
    let gvr = draft.written("watch")?.with(on.watch.clone());
    if let Some(changed) = draft.written("changed").filter(|_| !on.filter.events.update) {
        let message = "it is about updates, which `events` leaves out";
        problems.refuse(changed, Fault::new(message, "add \"update\" to `events`, or remove it"));
    }
    if let Some(initial) =
        draft.written("initial").filter(|_| on.filter.initial == Initial::Changed && !on.filter.events.add)
    {
        let message = "what changed before a restart is an addition, which `events` leaves out";
        problems.refuse(initial, Fault::new(message, "add \"add\" to `events`, or write \"deliver\""));
    }
    if let Some(namespaces) = draft.written("namespaces").filter(|_| on.watch.is_namespaces()) {
        problems.refuse(namespaces, Fault::new("`namespaces` never selects a namespace", OF_NAMESPACES));
    }
    if let Some(labels) = draft.written("namespaces-labels").filter(|_| on.follows_namespaces()) {
        watched.follows_namespaces(&on.watch).into_iter().for_each(|fault| problems.refuse(labels, fault));
    }
    let watch = watched.find(&gvr, problems);
    if let Some(watch) = watch {
        compare(&draft, watch, problems);
    }
    for watch in watched.of_pattern(&on.watch) {
        compare(&draft, watch, problems);
    }
    if let Some(whole_if) = draft.written("whole-if").filter(|_| !draft.is_refused("reads")) {
        let mut watches = std::iter::once(watch).chain(watched.of_pattern(&on.watch).map(Some));
        let fault = watches.find_map(|watch| whole_if_fault(on, watch));
        fault.into_iter().for_each(|fault| problems.refuse(whole_if, fault));
    }
    let keeps_part = on.reads.parts().is_some() || watch.is_some_and(Watch::keeps_part);
    let partial = on.filter.changed.generation && keeps_part;
    let resync = match draft.written("resync") {
        Some(_) => never_if_zero(on.resync),
        None => watch.and_then(|watch| watch.resync),
    };
    let mut subscription = Subscription { resync, ..draft.value };
    subscription.filter.changed.partial = partial;
    Some(subscription)
}
