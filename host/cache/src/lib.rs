//! The informer: keeps a copy of a Kubernetes collection up to date and notifies listeners of its changes.
//!
//! The modules in the order in which an event passes them:
//!
//! 1. `request`, `request_budget`, `transport`, `list_watch`, `watch_stream`: LIST pages and WATCH frames as bytes, over a
//!    `kube::Client`, at a limited rate. `list_extent` and `ceiling` bound their memory. `api_status`, `error` and `error_class`
//!    describe why a request failed.
//! 2. `decode`: turns one JSON text into one [`Object`](informer_types::Object), without an object tree. `compress` makes the
//!    texts of older objects smaller.
//! 3. `reflector`: lists (streaming or plain), watches, resumes, relists and backs off; one task per watched namespace. It runs
//!    while `discovery` finds the resource.
//! 4. `delta_queue`: what the reflectors saw, in order, bounded.
//! 5. `controller`: applies deltas. The store decides what each one is. Writes the `indexer`, then notifies. `in_doubt` has the
//!    changes that a bug in between may have kept from the listeners.
//! 6. `processor`, `listener`, `resync`: fan-out, late joining, resync, has-synced.
//! 7. [`SharedInformer`] is the handle of one informer, and [`Lister`] reads its cache. [`InformerFactory`] makes one
//!    informer per resource and scope and owns every task; the tasks run on `threads`. A [`Subscription`] keeps an informer
//!    running. `status` describes the state of an informer for an operator.
//!
//! [`offline`] reads recorded answers with the same code.
//!
//! The modules form no cycle, and `tests/tidy` checks that. Codes in the documentation, such as R-18 or D-5, are rules of
//! `host/docs/rules.md`.
#![forbid(unsafe_code)]

mod api_status;
mod ceiling;
mod compress;
mod config;
mod controller;
mod decode;
mod delta_queue;
mod discovery;
mod error;
mod error_class;
mod factory;
mod in_doubt;
mod indexer;
mod list_extent;
mod list_watch;
mod listener;
mod lister;
pub mod offline;
mod processor;
mod reflector;
mod request;
mod request_budget;
mod resource_version;
mod resync;
mod shared_informer;
mod status;
mod threads;
mod transport;
mod watch_stream;

pub use compress::Compression;
pub use config::{BackoffConfig, FactoryConfig, InformerKey, WatchConfig, WatchListMode};
pub use error::NoCredentials;
pub use error_class::ErrorClass;
pub use factory::{FactoryStopped, InformerFactory, Subscription};
pub use indexer::ValueQuery;
pub use listener::ListenerConfig;
pub use lister::{ListQuery, Lister, UnknownIndex};
pub use processor::Registration;
pub use resource_version::{IncomparableVersion, ResourceVersion};
pub use shared_informer::{InformerStopped, SharedInformer, VersionError};
pub use status::{
    CacheMemory, Counters, InformerStatus, LastError, ListenerStatus, Phase, ReflectorStatus, Trouble,
    Undecoded,
};
