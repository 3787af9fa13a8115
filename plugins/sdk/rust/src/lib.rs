//! Write informer plugins in Rust.
//!
//! A plugin is a [`Handler`]: `start` makes it from its configuration, and `on_add`, `on_update` and `on_delete`
//! are called once for each notification of a shared informer. [`export!`] makes the component of it.
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
//! With `crate-type = ["cdylib", "rlib"]` the component is what
//! `cargo build --release --target wasm32-wasip2` leaves.
//!
//! A controller implements [`Reconciler`], whose `reconcile` the host calls with the key of whatever changed, or
//! [`Controller`], whose handlers put keys into the [`workqueue`] themselves.
//!
//! The tour, in the order of a call: [`Config`], [`Handler`], [`Event`] and [`Update`], [`Object`] and [`Field`],
//! [`lister`], [`client`], [`workqueue`], [`log`](mod@log), [`delivery`], [`Failure`]; [`wasi`], what the standard has for state,
//! configuration and logging; and `testing`, a host for native tests.

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
pub mod lister;
pub mod log;
pub mod metrics;
mod object;
mod reconciler;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod wasi;
pub mod workqueue;

pub use config::Config;
pub use error::{Error, ErrorCode};
pub use event::{Event, Update};
pub use failure::{Failure, Result};
pub use handler::{Cause, Handler};
pub use object::{Field, InvalidKey, Object, ObjectKey, ObjectMeta, Owner};
pub use reconciler::{Controller, ReconcileError, ReconcileResult, Reconciled, Reconciler};

/// What [`export!`] needs; no promise.
#[doc(hidden)]
pub mod __private {
    pub use crate::export::{Component, Exported, Reconciles};
}
