//! Follows the Plugin objects of the cluster, and writes their status back.
//!
//! `watcher` looks at the objects after each change and has the applier apply them; `writer` compares the verdict about each
//! object with its `status`, and writes the difference. Neither delays an event of a plugin.

mod recorder;
mod scopes;
mod status;
mod watcher;
mod writer;

pub(super) use watcher::{Tenants, is_plugin_resource};
