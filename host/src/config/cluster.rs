//! `[cluster]`: which API server, and how it is talked to.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use http::Uri;

/// Bookmarks come about once a minute: so much silence is a dead connection, or a server that sends none, which
/// costs one request.
pub const IDLE_WATCH_TIMEOUT: Duration = Duration::from_secs(3 * 60);

/// Requests a second unless something else is said, and requests at once. The kubelet's numbers: no brake in
/// ordinary life, and no storm after trouble.
pub const QPS: NonZeroU32 = NonZeroU32::new(50).unwrap();
/// See [`QPS`].
pub const BURST: NonZeroU32 = NonZeroU32::new(100).unwrap();

/// Which API server, and how it is talked to.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Where it is, and who we are there.
    pub access: Access,
    /// Objects a list page; none: as Kubernetes' own informers do, 500 or all at once.
    pub page_size: Option<NonZeroU32>,
    /// Requests a second that all watches together send at most, once `burst` is spent.
    pub qps: NonZeroU32,
    /// Requests that may be sent at once after a while without.
    pub burst: NonZeroU32,
    /// Whether the first state comes as a streaming list or a plain one.
    pub watch_list: WatchList,
    /// A watch on which nothing arrived for so long, not even a bookmark, is opened anew. Never zero.
    pub idle_watch_timeout: Duration,
}

/// How the first state of a collection, and each one after a gap, is fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchList {
    /// By a streaming list (KEP-3157), and by plain lists for an hour where that turned out not to work.
    #[default]
    Auto,
    /// By a streaming list, tried anew each time; a plain list stands in where it fails.
    On,
    /// By plain lists.
    Off,
}

/// Where the API server is, and who we are there.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// Nothing is said: kubeconfig (`$KUBECONFIG`, else `~/.kube/config`) if there is one, else in-cluster.
    Inferred,
    /// A kubeconfig, and nothing else.
    Kubeconfig {
        /// None: `$KUBECONFIG`, else `~/.kube/config`.
        path: Option<PathBuf>,
        /// None: the current one.
        context: Option<String>,
    },
    /// This URL, without credentials: https, or http on this machine.
    Server(Uri),
}

// === impl Cluster ===

impl Default for Cluster {
    fn default() -> Self {
        Self {
            access: Access::Inferred,
            page_size: None,
            qps: QPS,
            burst: BURST,
            watch_list: WatchList::default(),
            idle_watch_timeout: IDLE_WATCH_TIMEOUT,
        }
    }
}
