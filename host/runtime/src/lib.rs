//! Plugins: WebAssembly components in a sandbox, called for each notification or key.
//!
//! The modules, in the order in which a call meets them:
//!
//! 1. [`Engine`] compiles components, in a process of its own ([`Compiler`]), and interrupts guests every millisecond.
//!    [`Component`] is compiled code, checked against the interfaces that this host serves and the plugin's grants.
//! 2. [`Plugin`] has one version in service and replaces it at a reload. `dispatch` calls it as an
//!    [`EventHandler`](informer_types::EventHandler), as a [`Reconciler`](informer_types::Reconciler) and as a
//!    [`SignalHandler`](informer_types::SignalHandler).
//! 3. `instance` is one store, which serves one call at a time. `call` calls the exports of an instance, and `guest` has the host's data of
//!    the instance.
//! 4. [`capabilities`] are the functions that a guest may call: objects, lister, client, workqueue, timer, log, delivery, metrics,
//!    key-values, HTTP. `output` turns printed text into log lines.
//! 5. `schedule` decides when guests run: in turns, within their share, and until their deadline. [`GuestThreads`] are the
//!    threads that they run on.
//! 6. `failure` turns traps into failures for people. `revocation` ends the use of revoked grants.
//!
//! Each linear memory reserves 4 GiB of address space, of which only the pages that the guest uses take memory. Most instances have one
//! memory; the limit is 16. All instances together have at most 8,192, which fits into Linux' default `vm.max_map_count`. The host does not
//! support a limit on address space (`ulimit -v`).
//!
//! What an instance takes is charged to its limit and to a ceiling over all plugins (`memory`): linear memories, tables, and
//! wasmtime's structures, which `component` counts before the component is compiled. Caches of compiled code and what the host
//! itself holds are not charged.

mod bindings;
mod call;
pub mod capabilities;
mod component;
mod config;
mod counter;
mod counters;
mod debug_info;
mod engine;
mod exports;
mod failure;
mod guest;
mod instance;
mod interruption;
mod log_sink;
mod memory;
pub mod offline;
mod output;
mod plugin;
mod request_span;
mod revocation;
mod schedule;
mod sources;
mod stats;
mod threads;

pub use component::{Component, LoadError};
pub use config::{Grants, InstancePolicy, Limits, PluginConfig, TrialConfig};
pub use engine::{
    CodeCache, CodeKey, Codegen, Compiler, Engine, EngineConfig, EngineError, compile_on_stdio,
};
pub use log_sink::{LogLevel, LogLine, LogSink, LogStream, Subject};
pub use memory::GuestMemory;
pub use plugin::{Plugin, Rejected, VersionInfo};
pub use schedule::blocking_work;
pub use sources::{Sources, WallClock};
pub use stats::{InstanceStats, PluginStats};
pub use threads::GuestThreads;
