//! Plugins: WebAssembly components in a sandbox, called once per notification.
//!
//! In the order a call meets the modules:
//!
//! 1. [`Engine`] compiles, and interrupts every millisecond; [`Component`] is compiled code, checked against what this
//!    host serves and grants.
//! 2. [`Plugin`] has one version in service and swaps it at a reload; it is the
//!    [`EventHandler`](informer_types::EventHandler) and the [`Reconciler`](informer_types::Reconciler) that `dispatch` calls.
//! 3. `instance` is one store with one call at a time; `guest` is what the host keeps for it.
//! 4. [`capabilities`] is what a guest may call: objects, lister, client, workqueue, log, delivery, metrics, key-values,
//!    HTTP. `output` turns what it prints into lines.
//! 5. `schedule` says when guests run: by turns, within their share, until their deadline. [`GuestThreads`] is where.
//! 6. `failure` says what a trap means; `revocation`, when what was granted ends.
//!
//! Each instance reserves 4 GiB of address space: 9,300 fit into Linux' default `vm.max_map_count`, and a limit on
//! address space (`ulimit -v`) is not catered for.

mod bindings;
mod call;
pub mod capabilities;
mod component;
mod config;
mod engine;
mod exports;
mod failure;
mod guest;
mod instance;
mod log_sink;
mod output;
mod plugin;
mod revocation;
mod schedule;
mod sources;
mod stats;
mod threads;
mod timing;

pub use component::{Component, LoadError};
pub use config::{Grants, InstancePolicy, Limits, PluginConfig, TrialConfig};
pub use engine::{Engine, EngineConfig, EngineError};
pub use log_sink::{LogLevel, LogLine, LogSink, LogStream};
pub use plugin::{Plugin, Rejected, VersionInfo};
pub use sources::Sources;
pub use stats::{KeyValueStats, PluginStats};
pub use threads::GuestThreads;
pub use timing::Timing;
