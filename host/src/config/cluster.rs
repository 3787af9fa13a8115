//! `[cluster]`: the API server, and how the host talks to it.

use std::{num::NonZeroU32, path::PathBuf, sync::LazyLock, time::Duration};

use http::Uri;
use informer_cache::{FactoryConfig, WatchListMode};

use super::{
    context::Context,
    key::{Draft, Key, Section},
    problem::Fault,
    value::{Choice, Count, Size},
};

/// The API server, and how the host talks to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The API server, and the credentials to use.
    pub access: Access,
    /// Objects per page of a list; `None` means as Kubernetes' own informers, 500 or all at once.
    pub page_size: Option<NonZeroU32>,
    /// Requests per second that all watches together may send: the sustained rate.
    pub qps: NonZeroU32,
    /// Requests that all watches together may send at once after a pause.
    pub burst: NonZeroU32,
    /// How the first state of a collection is fetched.
    pub watch_list: WatchListMode,
    /// A watch that receives nothing for this long, not even a bookmark, is opened anew. Never zero.
    pub idle_watch_timeout: Duration,
    /// The size of the largest list that is accepted, in bytes. Never zero.
    pub list_bytes: usize,
}

/// The API server, and the credentials to use.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// The kubeconfig (`$KUBECONFIG`, else `~/.kube/config`) if there is one, else the service account of the pod.
    Inferred,
    /// A kubeconfig.
    Kubeconfig {
        /// `None` means `$KUBECONFIG`, else `~/.kube/config`.
        path: Option<PathBuf>,
        /// `None` means the current context.
        context: Option<String>,
    },
    /// This URL, without credentials: https, or http on this machine.
    Server(Uri),
}

/// `[cluster]` as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct ClusterKeys {
    context: Option<String>,
    kubeconfig: Option<PathBuf>,
    server: Option<Uri>,
    /// Everything but the access.
    cluster: Cluster,
}

/// The least holds a page of 500 small objects, and the most is more than the memory of any machine.
const LIST: (Size, Size) = (Size(1 << 20), Size(1 << 50));

type K<V> = Key<ClusterKeys, V>;

/// Less than a round trip or two would reopen watches for nothing. A watch lasts at most ten minutes, so a day
/// without a byte means that there is no watch.
const IDLE_WATCH: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(24 * 60 * 60));

pub(super) static CLUSTER: LazyLock<Section<ClusterKeys>> = LazyLock::new(|| {
    Section {
    doc: "The API server, and how the host talks to it. Without `context`, `kubeconfig` and `server` the \
          host uses $KUBECONFIG, else ~/.kube/config, else the service account of its pod.",
    keys: vec![
        K::<String>::new("context", |keys| &mut keys.context)
            .example("\"dev\"")
            .doc("The context of the kubeconfig. Default: its current context."),
        K::<PathBuf>::new("kubeconfig", |keys| &mut keys.kubeconfig)
            .example("\"~/.kube/dev.yaml\"")
            .doc("The kubeconfig file."),
        K::<Uri>::new("server", |keys| &mut keys.server).example("\"http://127.0.0.1:8001\"").doc(
            "The URL of the API server, instead of a kubeconfig. Requests carry no credentials. Plain \
             http is accepted for this machine only, as `kubectl proxy` serves it.",
        ),
        K::<Count>::new("page-size", |keys| &mut keys.cluster.page_size)
            .within((Count(1), Count(u32::MAX)))
            .example("500")
            .doc(
                "Objects per page of a plain list, so that no answer is large. The first list may be as old as the \
                 API server's watch cache; later ones read the newest state from etcd, page by page. Streaming \
                 lists have no pages. Default: the choice of Kubernetes' own informers, which is 500 for a list \
                 that etcd answers, and all at once for one that the watch cache answers.",
            ),
        K::<Count>::new("qps", |keys| &mut keys.cluster.qps).within((Count(1), Count(u32::MAX))).doc(
            "Requests per second that all watches together may send: the sustained rate. `burst` may \
             exceed it briefly.",
        ),
        K::<Count>::new("burst", |keys| &mut keys.cluster.burst)
            .within((Count(1), Count(u32::MAX)))
            .doc("Requests that all watches together may send at once after a pause."),
        K::<WatchListMode>::new("watch-list", |keys| &mut keys.cluster.watch_list).doc(
            "How the first state of a collection is fetched. \"auto\" requests a streaming list, and uses \
             plain lists for an hour after a streaming list has failed. \"on\" requests a streaming list \
             each time. \"off\" requests plain lists. If a list has no resource version, the server cannot \
             mark the end of a streaming list: \"auto\" and \"on\" then request plain lists.",
        ),
        K::<Duration>::new("idle-watch-timeout", |keys| &mut keys.cluster.idle_watch_timeout)
            .within(IDLE_WATCH)
            .doc(
                "A watch that receives nothing for this long, not even a bookmark, is opened anew, \
                 because its connection may be dead. Kubernetes sends a bookmark about once a minute.",
            ),
        K::<Size>::new("list-size", |keys| &mut keys.cluster.list_bytes).within(LIST).doc(
            "The maximum size of a list of a collection: all pages together, as the API server sends them, \
             and 512 bytes more for each object. A larger list fails: the cache stays as it was, the status \
             reports the failure, and the list is tried again later. So a list that never ends cannot use up \
             the memory of this machine.",
        ),
    ],
}
});

// === impl Cluster ===

impl Default for Cluster {
    fn default() -> Self {
        let FactoryConfig { page_size, qps, burst, watch_list, idle_watch_timeout, list_bytes, .. } =
            FactoryConfig::default();
        let page_size = page_size.and_then(NonZeroU32::new);
        let access = Access::Inferred;
        Self { access, page_size, qps, burst, watch_list, idle_watch_timeout, list_bytes }
    }
}

impl Choice for WatchListMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("on", Self::On), ("off", Self::Off)];
}

/// Judges the keys that depend on one another.
pub(super) fn cluster(draft: Draft<ClusterKeys>, context: &mut Context<'_, '_>) -> Cluster {
    let path = draft.written("kubeconfig").zip(draft.value.kubeconfig.as_ref());
    let path = path.map(|(place, path)| context.path(path, place));
    if draft.value.server.is_some() {
        for other in [draft.written("kubeconfig"), draft.written("context")].into_iter().flatten() {
            let message = "`server` says already where the API server is";
            context.problems.refuse(other, Fault::new(message, "remove one of the two"));
        }
    }
    let ClusterKeys { context, server, cluster, .. } = draft.value;
    let access = match (server, path, context) {
        (Some(server), ..) => Access::Server(server),
        (None, None, None) => Access::Inferred,
        (None, path, context) => Access::Kubeconfig { path: path.flatten(), context },
    };
    Cluster { access, ..cluster }
}
