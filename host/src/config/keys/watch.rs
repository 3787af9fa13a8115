//! `[[watch]]`

use std::time::Duration;

use informer_cache::Compression;
use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer};

use crate::config::{
    key::{
        Key, List, Map, Section,
        Shown::{ByDefault, ByDefaultAnd, Example, Required},
    },
    table::Located,
    value::{Name, Scalar},
    watch::{COMPRESSION, DROP},
};

/// `[[watch]]` as it is written.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct WatchKeys {
    pub(in crate::config) gvr: Option<Located<Gvr>>,
    pub(in crate::config) namespaces: Option<Located<Vec<Located<Name>>>>,
    pub(in crate::config) labels: LabelSelector,
    pub(in crate::config) fields: FieldSelector,
    pub(in crate::config) resync: Option<Located<Duration>>,
    pub(in crate::config) drop: Option<Located<Vec<Located<Pointer>>>>,
    pub(in crate::config) keep: Option<Located<Vec<Located<Pointer>>>>,
    pub(in crate::config) metadata_only: bool,
    pub(in crate::config) compression: Option<Compression>,
    pub(in crate::config) index: Vec<(Name, Located<Pointer>)>,
}

type K<V> = Key<WatchKeys, V>;
type L<V> = List<WatchKeys, V>;

pub(super) static WATCH: Section<WatchKeys> = Section {
    doc: "One shared informer: one watch and one cache of a resource, for all plugins together. At least one is needed, \
          and each resource at most once. An informer runs while some plugin subscribes to it or may read it. If the \
          CRD of a resource is not installed yet, the informer waits for it.",
    keys: &[
        &K::<Gvr> {
            name: "gvr",
            doc: "The resource: group/version/resource, or version/resource for the core group, as in \"v1/pods\".",
            shown: Required("\"apps/v1/deployments\""),
            bounds: None,
            set: |keys, it| keys.gvr = Some(it),
        },
        &L::<Name> {
            name: "namespaces",
            doc: "The namespaces to watch. Each of them costs a connection; they share one cache. Default: the whole \
                  collection.",
            shown: Example("[\"default\", \"shop\"]"),
            set: |keys, it| keys.namespaces = Some(it),
        },
        &K::<LabelSelector> {
            name: "labels",
            doc: "A label selector. The API server applies it, so objects that it excludes cost nothing here. The \
                  default selects everything.",
            shown: ByDefaultAnd(|_| "\"\"".to_owned(), "\"app=web,tier in (a, b),!legacy\""),
            bounds: None,
            set: |keys, it| keys.labels = it.value,
        },
        &K::<FieldSelector> {
            name: "fields",
            doc: "A field selector. The API server applies it, and supports few fields of each resource. The default \
                  selects everything.",
            shown: ByDefaultAnd(|_| "\"\"".to_owned(), "\"spec.nodeName=node-1\""),
            bounds: None,
            set: |keys, it| keys.fields = it.value,
        },
        &K::<Duration> {
            name: "resync",
            doc: "How often every cached object is delivered again as an update. \"0s\" means never. Bounds: 0s, or 1s \
                  to 168h.",
            shown: ByDefault(|_| "\"0s\"".to_owned()),
            bounds: None,
            set: |keys, it| keys.resync = Some(it),
        },
        &L::<Pointer> {
            name: "drop",
            doc: "JSON pointers to what is removed from every object before it is kept. [] keeps everything.",
            shown: ByDefault(|_| format!("[\"{}\"]", DROP.join("\", \""))),
            set: |keys, it| keys.drop = Some(it),
        },
        &L::<Pointer> {
            name: "keep",
            doc: "Instead of `drop`: JSON pointers to the only parts that are kept, besides what identifies an object \
                  (apiVersion, kind, name, namespace, uid, resourceVersion, generation, timestamps, labels, owners). A \
                  pointer into an array keeps the whole array. Default: everything that `drop` leaves.",
            shown: Example("[\"/spec/replicas\", \"/status\"]"),
            set: |keys, it| keys.keep = Some(it),
        },
        &K::<bool> {
            name: "metadata-only",
            doc: "Request only the metadata of the objects (PartialObjectMetadata). This is several times less to \
                  transfer and to keep.",
            shown: ByDefault(|keys| keys.metadata_only.to_string()),
            bounds: None,
            set: |keys, it| keys.metadata_only = it.value,
        },
        &K::<Compression> {
            name: "compression",
            doc: "How objects are kept in memory. \"zstd\" compresses each with a dictionary trained on the first \
                  objects, several times smaller. \"off\" keeps them as they came.",
            shown: ByDefault(|_| Scalar::shown(&COMPRESSION)),
            bounds: None,
            set: |keys, it| keys.compression = Some(it.value),
        },
        &Map::<WatchKeys, Pointer> {
            name: "index",
            doc: "Indexes that plugins list objects by: a name, and a JSON pointer to a scalar, or to an array whose \
                  scalars are the values.",
            shown: ByDefaultAnd(
                |_| "{}".to_owned(),
                "{ by-account = \"/spec/template/spec/serviceAccountName\" }",
            ),
            set: |keys, it| keys.index = it,
        },
    ],
};
