//! Write informer plugins in Rust.
//!
//! A plugin is a type that implements [`Handler`]. The host calls `start` with the plugin's configuration, and then
//! `on_add`, `on_update` or `on_delete` for each notification of a shared informer. [`export!`] exports the type as a
//! WebAssembly component.
//!
//! ```
//! use informer_sdk::{Cause, Config, Event, Handler, Result, Update, log};
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields, rename_all = "kebab-case")]
//! struct Settings {
//!     min_replicas: u32,
//! }
//!
//! struct ReplicaCheck {
//!     settings: Settings,
//! }
//!
//! impl Handler for ReplicaCheck {
//!     fn start(config: Config) -> std::result::Result<Self, String> {
//!         Ok(Self { settings: config.parse()? })
//!     }
//!
//!     fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
//!         self.check(&object)
//!     }
//!
//!     fn on_update(&mut self, update: Update, _cause: Cause) -> Result {
//!         if update.changed(&["/spec/replicas"])? {
//!             self.check(&update.new)?;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! impl ReplicaCheck {
//!     fn check(&self, object: &Event) -> Result {
//!         let replicas = object.get::<u32>("/spec/replicas")?.unwrap_or(1);
//!         if replicas < self.settings.min_replicas {
//!             log::warn!(object = object.key(), replicas = replicas; "too few replicas");
//!         }
//!         Ok(())
//!     }
//! }
//!
//! informer_sdk::export!(ReplicaCheck);
//! # fn main() {}
//! ```
//!
//! Set `crate-type = ["cdylib", "rlib"]`, and build the component with `cargo build --release --target wasm32-wasip2`.
//!
//! # Which trait?
//! - [`Handler`]: react to each notification.
//! - [`BatchHandler`]: react to many notifications in one call, for bulk requests for example.
//! - [`Reconciler`]: the host calls `reconcile` with the key of each object that changed, and retries failed keys.
//! - [`Controller`]: a handler that decides itself which keys it adds to the [`workqueue`].
//! - Besides one of them: [`SyncHandler`], called when a cache is complete, [`TimerHandler`], called at certain times, and
//!   [`ConfigHandler`], called when the configuration files changed.
//!
//! # A tour, in the order of a call
//! - [`Config`]: the table `[plugin.config]`.
//! - [`Event`] and [`Update`]: the object of a notification, read by JSON pointer through [`Object`] and [`Field`].
//! - [`lister`]: reads of the host's cache. [`client`]: requests to the API server.
//! - [`metadata`]: finalizers and owner references.
//! - [`keyvalue`]: state that survives restarts.
//! - [`workqueue`], [`timer`], [`log`](mod@log), [`metrics`] and [`delivery`].
//! - [`Failure`] and [`ReconcileError`]: what the host does after a failed call.
//! - [`labels`]: label selectors from annotations and from the configuration.
//! - `patterns`: lists of names and regular expressions from annotations, with the feature of this name.
//! - [`wasi`]: the standard interfaces for state, configuration and logging.
//! - `testing`: a host for native tests.

mod batch;
#[doc(hidden)]
pub mod bindings;
pub mod client;
mod config;
pub mod delivery;
mod error;
mod event;
mod export;
mod failure;
mod handler;
mod host;
mod json;
pub mod keyvalue;
pub mod labels;
pub mod lister;
pub mod log;
pub mod metadata;
pub mod metrics;
mod object;
#[cfg(feature = "patterns")]
pub mod patterns;
mod reconciler;
mod signal;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod timer;
pub mod wasi;
pub mod workqueue;

pub use batch::{BatchHandler, BatchResult, Change, Handled, Notification};
pub use config::Config;
pub use error::{Error, ErrorCode};
pub use event::{Event, Update};
pub use failure::{Failure, Result};
pub use handler::{Cause, Handler};
pub use object::{Field, InvalidKey, Object, ObjectKey, ObjectMeta, Owner};
pub use reconciler::{Controller, ReconcileError, ReconcileResult, Reconciled, Reconciler};
pub use signal::{ConfigHandler, SyncHandler, Synced, TimerHandler};

/// Used by the code of [`export!`]. It may change at any time.
#[doc(hidden)]
pub mod __private {
    pub use crate::export::{Component, Exported, Reconciles};
}
