//! The configuration of a server.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

/// The settings of a [`DevServer`](crate::DevServer). By default it serves on a free loopback port.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address to listen on; port 0 selects a free port. Defaults to `127.0.0.1:0`.
    pub address: SocketAddr,
    /// Permits an address that other machines can reach. There is neither TLS nor authentication: every client may do
    /// everything. Defaults to `false`.
    pub allow_remote: bool,
    /// The most connections at once, at most a quarter of the files that the process may open. At the limit a new
    /// connection replaces the one that has waited longest for its client; if a request is being answered on each, the
    /// new one is closed. Defaults to 16,384.
    pub connection_limit: usize,
    /// The time between two bookmarks on a watch that requested bookmarks. Defaults to 60 s, as in kube-apiserver.
    pub bookmark_interval: Duration,
    /// How many changes of each resource a new list or watch may go back. Defaults to 10,000.
    pub history_limit: usize,
    /// How a watch from a forgotten version fails. Defaults to an event in the stream.
    pub gone: GoneStyle,
    /// How long a request for a future version waits before it fails. Defaults to 3 s, as in kube-apiserver.
    pub future_version_patience: Duration,
    /// How long a namespace that is being deleted keeps its objects. kube-controller-manager waits 5 s, and
    /// `kubectl delete -f` of a namespace together with its objects relies on some wait. Zero empties the namespace
    /// before the deletion is answered. Defaults to 500 ms.
    pub namespace_grace: Duration,
    /// Deletes the dependents of deleted objects, as the garbage collector of kube-controller-manager does. Defaults
    /// to `false`, because tests of informers expect no other events than their own.
    pub garbage_collection: bool,
}

/// How a watch from a forgotten version fails. Real servers use both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GoneStyle {
    /// HTTP 200, then an `ERROR` event with the `Status`, as in kube-apiserver.
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
            connection_limit: 16_384,
            bookmark_interval: Duration::from_secs(60),
            history_limit: 10_000,
            gone: GoneStyle::default(),
            future_version_patience: Duration::from_secs(3),
            namespace_grace: Duration::from_millis(500),
            garbage_collection: false,
        }
    }
}
