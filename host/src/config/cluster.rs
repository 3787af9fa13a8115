//! `[cluster]`: the API server, and how the host talks to it.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use http::Uri;
use informer_cache::{FactoryConfig, WatchListMode};

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

// === impl Cluster ===

impl Default for Cluster {
    fn default() -> Self {
        let FactoryConfig { page_size, qps, burst, watch_list, idle_watch_timeout, .. } =
            FactoryConfig::default();
        let page_size = page_size.and_then(NonZeroU32::new);
        Self { access: Access::Inferred, page_size, qps, burst, watch_list, idle_watch_timeout }
    }
}
