//! How a server is to behave.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

/// The settings of a [`DevServer`](crate::DevServer). The default serves on a free loopback port.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 takes a free one. Default `127.0.0.1:0`.
    pub address: SocketAddr,
    /// Permits an address other machines can reach. There is neither TLS nor authentication: whoever
    /// reaches the server may do anything. Default `false`.
    pub allow_remote: bool,
    /// How often an open watch that asked for bookmarks gets one. Default 60 s, as kube-apiserver.
    pub bookmark_interval: Duration,
    /// How many changes of each resource a new list or watch may go back. Default 10,000.
    pub history_limit: usize,
    /// How a watch from a forgotten version fails.
    pub gone: GoneStyle,
    /// How long a request for a version that is not there yet waits before it fails. Default 3 s,
    /// as kube-apiserver.
    pub future_version_patience: Duration,
    /// How long a namespace that is being deleted keeps its content. kube-controller-manager waits
    /// 5 s, and `kubectl delete -f` of a namespace and what is in it relies on some wait. Zero empties
    /// it before the deletion is answered. Default 500 ms.
    pub namespace_grace: Duration,
    /// Deletes what is owned by deleted objects, as kube-controller-manager's garbage collector
    /// does. Off by default: tests of informers want no events but their own.
    pub garbage_collection: bool,
}

/// The two ways in which a real server tells a watcher that its version is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GoneStyle {
    /// HTTP 200, then an `ERROR` event with the `Status`: what kube-apiserver does.
    #[default]
    InStream,
    /// HTTP 410.
    HttpStatus,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            allow_remote: false,
            bookmark_interval: Duration::from_secs(60),
            history_limit: 10_000,
            gone: GoneStyle::default(),
            future_version_patience: Duration::from_secs(3),
            namespace_grace: Duration::from_millis(500),
            garbage_collection: false,
        }
    }
}
