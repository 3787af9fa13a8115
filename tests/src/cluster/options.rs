//! Options of a cluster.

use std::time::Duration;

/// Options of a [`RealCluster`](super::RealCluster).
#[derive(Clone, Debug)]
pub struct Options {
    /// If true, the default, the API server serves lists and watches from memory; otherwise from etcd.
    ///
    /// Without the watch cache a compaction has an effect at once: a watch from an older version gets status 410.
    pub watch_cache: bool,
    /// If true, kube-controller-manager runs too, so that deployments create pods. Defaults to false.
    pub controllers: bool,
    /// If true, pods run on a [`Node`](crate::node::Node), which also needs `controllers`. Then pods get tokens of their ServiceAccounts.
    /// Defaults to false.
    pub node: bool,
    /// More flags for kube-apiserver, such as `--feature-gates=ShardedListAndWatch=true`. The last of two equal flags wins.
    pub apiserver_flags: Vec<String>,
    /// The longest time until the API server is ready, at every start.
    pub ready_within: Duration,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            watch_cache: true,
            controllers: false,
            node: false,
            apiserver_flags: Vec::new(),
            // A single start takes 4 to 8 s. Several clusters start at a time on the two cores of a build machine.
            ready_within: Duration::from_secs(120),
        }
    }
}
