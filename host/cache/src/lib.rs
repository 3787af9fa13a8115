//! The informer: keeps a copy of a Kubernetes collection up to date and tells listeners what changed.
//!
//! In the order an event meets the modules:
//!
//! 1. `request`, `request_budget`, `list_watch`, `frame`: LIST pages and WATCH frames as bytes, over a
//!    `kube::Client`, no more often than the API server can bear.
//! 2. `decode`: one JSON text becomes one [`Object`](informer_types::Object), with no object tree.
//! 3. `reflector`: list (streaming or plain), watch, resume, relist, back off; one task per namespace watched.
//! 4. `delta`, `delta_queue`: what the reflectors saw, in order, bounded.
//! 5. `controller`: applies deltas; the store decides what each one is. Writes the `indexer`, then notifies.
//! 6. `processor`, `listener`, `resync`: fan-out, joining late, resync, has-synced.
//! 7. [`SharedInformer`] is the handle of all this, [`Lister`] its reading side, [`InformerFactory`] makes
//!    one per resource and scope and owns every task, [`Subscription`] keeps one running.
//!
//! An earlier stage never calls a later one. Rule numbers in the documentation (R-18, C-3, D-5 ...) are
//! those of the informer-semantics checklist.
//!
//! Not built yet: sharding.
#![forbid(unsafe_code)]

mod api_status;
mod compress;
mod config;
mod controller;
mod decode;
mod delta;
mod delta_queue;
mod discovery;
mod error;
mod factory;
mod frame;
mod index;
mod indexer;
mod informer_key;
mod list_watch;
mod listener;
mod lister;
mod processor;
mod reflector;
mod request;
mod request_budget;
mod resource_version;
mod resync;
mod shared_informer;
mod status;
mod subscription;
mod threads;
mod watch_list_support;

pub use compress::Compression;
pub use config::{BackoffConfig, FactoryConfig, WatchConfig, WatchListMode};
pub use discovery::DiscoveryError;
pub use error::{ErrorClass, ReflectorError, RequestError};
pub use factory::{FactoryStopped, InformerFactory, NotSynced};
pub use informer_key::InformerKey;
pub use listener::{ListenerConfig, Registration};
pub use lister::{ListQuery, Lister, UnknownIndex};
pub use resource_version::{IncomparableVersion, ResourceVersion};
pub use shared_informer::{InformerStopped, SharedInformer, VersionError};
pub use status::{Counters, InformerStatus, LastError, Phase, ReflectorStatus, Trouble};
pub use subscription::Subscription;
