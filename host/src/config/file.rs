//! A whole configuration.

use super::{cluster::Cluster, host::Host, plugin::Plugin, watch::Watch};

/// A whole configuration. Every reference in it leads somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The API server.
    pub cluster: Cluster,
    /// The process itself.
    pub host: Host,
    /// The watches in the order of the file; at least one.
    pub watches: Vec<Watch>,
    /// The plugins in the order of the file; maybe none.
    pub plugins: Vec<Plugin>,
}
