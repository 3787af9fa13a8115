//! `[[watch]]`: one shared informer.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use informer_cache::Compression;
use informer_types::{FieldSelector, Gvr, IndexPaths, LabelSelector, Pointer, identity};

use super::{
    key::{Draft, Key, Section},
    problem::{Fault, Located, Problems},
    value::{Choice, Name, outside as out_of_bounds},
};

/// It is 20 to 30 % of a typical object, and no handler reads it.
const DROP: &str = "/metadata/managedFields";

/// A longer period would be as good as never, which is written "0s". client-go raises a shorter period to the minimum (P-9).
const RESYNC: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(7 * 24 * 60 * 60));

/// The remedy for the key `namespaces` of a watch of namespaces.
pub(super) const OF_NAMESPACES: &str =
    "remove it, or write fields = \"metadata.name=NAME\" for one namespace";

/// The fields by which an informer identifies objects and their versions.
const IDENTITY: [&str; 4] =
    ["/metadata/name", "/metadata/namespace", "/metadata/uid", "/metadata/resourceVersion"];

/// One shared informer, or one for each resource of a pattern. No two have the same resource or pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// The resource, or a pattern.
    pub gvr: Gvr,
    /// Resources that the pattern does not stand for, in any version.
    pub exclude: Vec<Gvr>,
    /// Each namespace once, in the order of the file; empty means all namespaces.
    pub namespaces: Vec<String>,
    /// Applied by the server; empty selects everything.
    pub labels: LabelSelector,
    /// Applied by the server, which supports some fields of each resource; empty selects everything.
    pub fields: FieldSelector,
    /// The resync period of subscriptions without one of their own, at least a second; `None` means never.
    pub resync: Option<Duration>,
    /// The fields that are removed from every object before it is cached; never a field that an informer itself needs.
    pub drop: Vec<Pointer>,
    /// The fields that are kept of every object, besides those that identify it; empty keeps all fields. The file has either
    /// `keep` or `drop`.
    pub keep: Vec<Pointer>,
    /// Only the metadata of the objects is requested.
    pub metadata_only: bool,
    /// How the objects are kept in memory.
    pub compression: Compression,
    /// Indexes by name: the scalars at the paths, and the scalars of the arrays there. All paths lead to fields that are kept.
    pub indexes: BTreeMap<String, IndexPaths>,
}

type K<V> = Key<Watch, V>;

pub(super) static WATCH: LazyLock<Section<Watch>> = LazyLock::new(|| {
    Section {
    doc: "One shared informer: one watch and one cache of a resource, for all plugins together. At least \
          one is needed, and each resource at most once. An informer runs while some plugin subscribes to \
          it or may read it. If the CRD of a resource is not installed yet, the informer waits for it.",
    keys: vec![
        K::<Gvr>::new("gvr", |watch| &mut watch.gvr).required("\"apps/v1/deployments\"").doc(
            "The resource: group/version/resource, or version/resource for the core group, as in \
             \"v1/pods\". A built-in resource may have a name that kubectl accepts, as in \"deploy\", \
             \"Deployment\" and \"core/v1/configmaps\"; `informer check` prints the full name. A pattern \
             stands for each resource that the API server serves and that can be watched, and follows its \
             CRDs: \"*/*/*\" for all groups, \"apps/*/*\" for one, \"core/*/*\" for the core group. Each \
             resource is watched once, in the version that the API server prefers. A [[watch]] of the \
             resource itself has precedence over a pattern. With a pattern, metadata-only is required, and \
             `fields` and `index` are not possible. [[plugin.on]] and the grants `read` and `write` may name \
             the pattern too, and then stand for the same resources, each with its [[watch]]. There a line for \
             the resource itself has precedence, and what selects namespaces leaves out resources whose \
             objects have none.",
        ),
        K::<Vec<Gvr>>::new("exclude", |watch| &mut watch.exclude)
            .distinct()
            .also("[\"v1/events\", \"metrics.k8s.io/*/*\"]\ngvr = \"*/*/*\"\nmetadata-only = true")
            .doc("Resources that the pattern does not stand for, in any version, or groups of them."),
        K::<Vec<Name>>::new("namespaces", |watch| &mut watch.namespaces)
            .some_distinct("all namespaces")
            .example("[\"default\", \"shop\"]")
            .doc(
                "The namespaces to watch. Each of them costs a connection; they share one cache. Default: \
                 the whole collection.",
            ),
        K::<LabelSelector>::new("labels", |watch| &mut watch.labels)
            .also("\"app=web,tier in (a, b),!legacy\"")
            .doc(
                "A label selector. The API server applies it, so objects that it excludes cost nothing \
                 here. The default selects everything.",
            ),
        K::<FieldSelector>::new("fields", |watch| &mut watch.fields).also("\"spec.nodeName=node-1\"").doc(
            "A field selector. The API server applies it, and supports few fields of each resource. The \
             default selects everything.",
        ),
        K::<Duration>::new("resync", |watch| &mut watch.resync).check(resync_fault).default("\"0s\"").doc(
            "How often every cached object is delivered again as an update. \"0s\" means never. Bounds: \
             0s, or 1s to 168h.",
        ),
        K::<Vec<Pointer>>::new("drop", |watch| &mut watch.drop).each(removes_identity).distinct().doc(
            "JSON pointers to the fields that are removed from every object before it is cached. [] removes \
             nothing.",
        ),
        K::<Vec<Pointer>>::new("keep", |watch| &mut watch.keep)
            .each(|pointer| whole_object(pointer, "leave `keep` out to keep everything"))
            .some_distinct("everything")
            .example("[\"/spec/replicas\", \"/status\"]")
            .doc(
                "Instead of `drop`: JSON pointers to the fields to keep. All others are removed, except \
                 those that identify an object (apiVersion, kind, name, namespace, uid, resourceVersion, \
                 generation, timestamps, labels, owners). A pointer into an array keeps the whole array. \
                 Default: the fields that the plugins of the watch read, if all of them have `reads` under \
                 [[plugin.on]]; otherwise all fields that `drop` does not remove.",
            ),
        K::<bool>::new("metadata-only", |watch| &mut watch.metadata_only).doc(
            "Request only the metadata of the objects (PartialObjectMetadata). They need several times less \
             bandwidth and memory.",
        ),
        K::<Compression>::new("compression", |watch| &mut watch.compression).doc(
            "How objects are kept in memory. \"zstd\" compresses each object with a dictionary trained on \
             the first objects, which makes it several times smaller. \"off\" keeps the text as it was \
             received.",
        ),
        K::<BTreeMap<String, IndexPaths>>::new("index", |watch| &mut watch.indexes)
            .also("{ by-account = \"/spec/template/spec/serviceAccountName\" }")
            .doc(
                "Indexes by which plugins list objects. Each has a name, and a JSON pointer to a scalar, or \
                 to an array whose scalars are the values. The token `*` stands for every element of an \
                 array, as in \"/spec/volumes/*/configMap/name\". An array of pointers makes one index with \
                 the values at all of them.",
            ),
    ],
}
});

// === impl Watch ===

impl Watch {
    /// Returns true if the watch is a pattern that stands for the kind with these names. The preferred one is the first.
    pub fn stands_for(&self, names: &[Gvr]) -> bool {
        let excludes = |other: &Gvr| {
            // An excluded group excludes only the kinds whose preferred name is in that group.
            let names = if other.is_pattern() { names.get(..1).unwrap_or_default() } else { names };
            names.iter().any(|name| other.covers(name))
        };
        self.gvr.is_pattern()
            && names.iter().any(|name| self.gvr.covers(name))
            && !self.exclude.iter().any(excludes)
    }

    /// The fault of a reference to a namespace that is not watched; `None` if it is.
    pub(super) fn outside(&self, namespace: &str) -> Option<Fault> {
        if self.namespaces.is_empty() || self.namespaces.iter().any(|own| own == namespace) {
            return None;
        }
        let message = format!("`{}` is not watched in namespace `{namespace}`", self.gvr);
        let remedy = format!("add \"{namespace}\" to `namespaces` of its [[watch]], or remove it here");
        Some(Fault::new(message, remedy))
    }

    /// Returns true if the watch may leave out a part of the objects outside of their metadata.
    pub fn keeps_part(&self) -> bool {
        self.metadata_only || !self.keep.is_empty() || self.drop.iter().any(|dropped| !is_metadata(dropped))
    }

    /// Returns true if no key of the watch defines what is kept of the objects.
    pub fn keeps_by_default(&self) -> bool {
        !self.metadata_only && self.keep.is_empty() && self.drop == Self::default().drop
    }

    /// Notes a fault if the watch keeps nothing at this pointer.
    pub(super) fn keeps(&self, pointer: &Pointer, place: &Located<impl Sized>, problems: &mut Problems<'_>) {
        if let Some(remedy) = self.drops(pointer) {
            let message = format!("nothing is at \"{pointer}\" in what is kept of the objects");
            problems.refuse(place, Fault::new(message, remedy));
        }
    }

    /// The remedy, if nothing is kept at the pointer.
    fn drops(&self, pointer: &Pointer) -> Option<String> {
        if self.metadata_only && !is_metadata(pointer) {
            return Some("remove metadata-only, or name something below \"/metadata\"".to_owned());
        }
        if let Some(dropped) = self.drop.iter().find(|dropped| dropped.covers(pointer)) {
            return Some(format!("remove \"{dropped}\" from `drop`"));
        }
        let stays = self.keep.is_empty()
            || self.keep.iter().any(|kept| kept.covers(pointer))
            || identity().any(|always| always.pointer().covers(pointer));
        (!stays).then(|| format!("add \"{pointer}\" to `keep`"))
    }
}

impl Default for Watch {
    /// A watch before its keys are read. It has no resource yet.
    fn default() -> Self {
        Self {
            gvr: Gvr::new("", "", ""),
            exclude: Vec::new(),
            namespaces: Vec::new(),
            labels: LabelSelector::default(),
            fields: FieldSelector::default(),
            resync: None,
            drop: DROP.parse().into_iter().collect(),
            keep: Vec::new(),
            metadata_only: false,
            // Several times smaller, for some microseconds per event.
            compression: Compression::Zstd,
            indexes: BTreeMap::new(),
        }
    }
}

// === impl Compression ===

impl Choice for Compression {
    const WORDS: &'static [(&'static str, Self)] = &[("zstd", Self::Zstd), ("off", Self::Off)];
}

pub(super) fn resync_fault(period: &Duration) -> Option<Fault> {
    if period.is_zero() { None } else { out_of_bounds(period, &RESYNC) }
}

/// A period of zero means never (P-9).
pub(super) fn never_if_zero(period: Option<Duration>) -> Option<Duration> {
    period.filter(|period| !period.is_zero())
}

/// Judges the keys of a watch that depend on one another.
pub(super) fn judge(draft: &Draft<Watch>, problems: &mut Problems<'_>) {
    let watch = &draft.value;
    judge_pattern(draft, problems);
    if let Some(place) = draft.written("namespaces").filter(|_| watch.gvr.is_namespaces()) {
        let message =
            format!("a namespace is in no namespace, so nothing of `{}` would be watched", watch.gvr);
        problems.refuse(place, Fault::new(message, OF_NAMESPACES));
    }
    if let Some((keep, drop)) = draft.written("keep").zip(draft.written("drop")) {
        let line = problems.line(drop.at, keep.at);
        let message = format!("`keep` lists all that is kept, and `drop` {line} what is removed");
        problems.refuse(keep, Fault::new(message, "remove one of them"));
    }
    for (pointer, place) in watch.keep.iter().zip(draft.items("keep")) {
        if watch.metadata_only && !pointer.tokens().is_empty() && !is_metadata(pointer) {
            let message = format!("nothing is at \"{pointer}\" with metadata-only = true");
            problems.refuse(place, Fault::new(message, "remove it, or keep something below \"/metadata\""));
        }
    }
    for name in draft.items("index") {
        for path in watch.indexes.get(&name.value).into_iter().flat_map(IndexPaths::iter) {
            if path.first().tokens().is_empty() {
                let remedy = "write the pointer of a field, like \"/spec/nodeName\"";
                problems.refuse(name, Fault::new("the whole object cannot be an index", remedy));
            } else {
                watch.keeps(path.first(), name, problems);
            }
        }
    }
}

/// Judges the keys that have a meaning for a pattern only, or for no pattern.
fn judge_pattern(draft: &Draft<Watch>, problems: &mut Problems<'_>) {
    let Watch { gvr, exclude, .. } = &draft.value;
    let Some(place) = draft.written("gvr") else { return };
    if !gvr.is_pattern() {
        if let Some(exclude) = draft.written("exclude").filter(|_| !exclude.is_empty()) {
            let fault =
                Fault::new(format!("`{gvr}` is one resource"), "remove it, or write a pattern as `gvr`");
            problems.refuse(exclude, fault);
        }
        return;
    }
    if draft.written("metadata-only").is_none() && !draft.is_refused("metadata-only") {
        let message = format!("`{gvr}` does not say whether whole objects of every kind are cached");
        let remedy =
            "add metadata-only = true, or metadata-only = false if the memory is enough for whole objects";
        problems.refuse(place, Fault::new(message, remedy));
    }
    for key in ["fields", "index"] {
        if let Some(written) = draft.written(key) {
            let message = format!("`{gvr}` stands for resources with other fields each");
            problems.refuse(
                written,
                Fault::new(message, format!("write `{key}` in a [[watch]] of one resource")),
            );
        }
    }
    for (other, place) in exclude.iter().zip(draft.items("exclude")) {
        if other.covers(gvr) {
            problems.refuse(
                place,
                Fault::new(format!("it excludes all of `{gvr}`"), "remove it, or the [[watch]]"),
            );
        } else if !gvr.covers(other) {
            let message = format!("`{gvr}` does not stand for `{other}`, so there is nothing to exclude");
            problems.refuse(place, Fault::new(message, "remove it"));
        }
    }
}

/// The fault of a pointer in `drop` to something that the informer needs, or to a part that contains it.
fn removes_identity(pointer: &Pointer) -> Option<Fault> {
    let is_removed = |needed: &Pointer| pointer.covers(needed);
    let needed = IDENTITY.iter().find(|needed| needed.parse().is_ok_and(|needed| is_removed(&needed)))?;
    let message = format!("\"{pointer}\" removes {needed}, which the informer itself needs");
    Some(Fault::new(message, "drop something else, like \"/metadata/managedFields\""))
}

/// The fault of a pointer to the whole object.
pub(super) fn whole_object(pointer: &Pointer, remedy: &str) -> Option<Fault> {
    pointer.tokens().is_empty().then(|| Fault::new("\"\" is the whole object", remedy))
}

fn is_metadata(pointer: &Pointer) -> bool {
    pointer.tokens().first().is_some_and(|first| first == "metadata")
}
