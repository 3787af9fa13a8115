//! `[cluster]`

use std::time::Duration;

use informer_cache::WatchListMode;

use crate::config::{
    cluster::Cluster,
    key::{
        Key, Section,
        Shown::{ByDefault, Example},
    },
    table::Located,
    value::{Count, PathText, Scalar, ServerUrl, Text},
};

/// `[cluster]` as it is written.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct ClusterKeys {
    pub(in crate::config) context: Option<Located<Text>>,
    pub(in crate::config) kubeconfig: Option<Located<PathText>>,
    pub(in crate::config) server: Option<Located<ServerUrl>>,
    /// Everything but the access.
    pub(in crate::config) cluster: Cluster,
}

type K<V> = Key<ClusterKeys, V>;

/// Less than a round trip or two would reopen watches for nothing. A watch lasts at most ten minutes, so a day
/// without a byte means that there is no watch.
const IDLE_WATCH: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(24 * 60 * 60));

pub(super) static CLUSTER: Section<ClusterKeys> = Section {
    doc: "The API server, and how the host talks to it. Without `context`, `kubeconfig` and `server` the host uses \
          $KUBECONFIG, else ~/.kube/config, else the service account of its pod.",
    keys: &[
        &K::<Text> {
            name: "context",
            doc: "The context of the kubeconfig. Default: its current context.",
            shown: Example("\"dev\""),
            bounds: None,
            set: |keys, it| keys.context = Some(it),
        },
        &K::<PathText> {
            name: "kubeconfig",
            doc: "The kubeconfig file.",
            shown: Example("\"~/.kube/dev.yaml\""),
            bounds: None,
            set: |keys, it| keys.kubeconfig = Some(it),
        },
        &K::<ServerUrl> {
            name: "server",
            doc: "The URL of the API server, instead of a kubeconfig. Requests carry no credentials. Plain http is \
                  accepted for this machine only, as `kubectl proxy` serves it.",
            shown: Example("\"http://127.0.0.1:8001\""),
            bounds: None,
            set: |keys, it| keys.server = Some(it),
        },
        &K::<Count> {
            name: "page-size",
            doc: "Objects per page of a list. Default: the choice of Kubernetes' own informers, 500 or all at once.",
            shown: Example("500"),
            bounds: Some((Count(1), Count(u32::MAX))),
            set: |keys, it| keys.cluster.page_size = it.value.non_zero(),
        },
        &K::<Count> {
            name: "qps",
            doc: "Requests per second that all watches together may send: the sustained rate. `burst` may exceed it \
                  briefly.",
            shown: ByDefault(|keys| keys.cluster.qps.to_string()),
            bounds: Some((Count(1), Count(u32::MAX))),
            set: |keys, it| keys.cluster.qps = it.value.non_zero().unwrap_or(keys.cluster.qps),
        },
        &K::<Count> {
            name: "burst",
            doc: "Requests that all watches together may send at once after a pause.",
            shown: ByDefault(|keys| keys.cluster.burst.to_string()),
            bounds: Some((Count(1), Count(u32::MAX))),
            set: |keys, it| keys.cluster.burst = it.value.non_zero().unwrap_or(keys.cluster.burst),
        },
        &K::<WatchListMode> {
            name: "watch-list",
            doc: "How the first state of a collection is fetched. \"auto\" requests a streaming list, and uses plain \
                  lists for an hour after a streaming list has failed. \"on\" requests a streaming list each time. \
                  \"off\" requests plain lists.",
            shown: ByDefault(|keys| Scalar::shown(&keys.cluster.watch_list)),
            bounds: None,
            set: |keys, it| keys.cluster.watch_list = it.value,
        },
        &K::<Duration> {
            name: "idle-watch-timeout",
            doc: "A watch that receives nothing for this long, not even a bookmark, is opened anew, because its \
                  connection may be dead. Kubernetes sends a bookmark about once a minute.",
            shown: ByDefault(|keys| Scalar::shown(&keys.cluster.idle_watch_timeout)),
            bounds: Some(IDLE_WATCH),
            set: |keys, it| keys.cluster.idle_watch_timeout = it.value,
        },
    ],
};
