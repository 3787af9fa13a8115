//! From what is written to what is meant: references, repetitions, paths, and keys that depend on one another.

mod cluster;
mod host;
mod plugin;
mod watch;

use super::{context::Context, file::Config, keys::FileKeys};

/// Judges a file. What is wrong is noted; the result is valid only if nothing is.
pub(super) fn config(keys: FileKeys, has_watches: bool, context: &mut Context<'_, '_>) -> Config {
    let cluster = cluster::cluster(&keys.cluster.value, context);
    let host = host::host(keys.host.value, context);
    let watched = watch::watches(has_watches.then_some(keys.watches), context);
    plugin::defaults(&keys.defaults.value, context);
    let plugins = plugin::plugins(keys.plugins, &watched, context);
    Config { cluster, host, watches: watched.watches, plugins }
}
