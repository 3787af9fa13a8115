//! The functions of the host that a guest may call. If a capability needs another part of the process, it defines a trait here,
//! which the composition root implements.
//!
//! A capability is one file, or one folder, of one shape:
//!
//! - `INTERFACES`: the WIT interfaces that it serves, with the grant that a plugin needs and the function that links them, the
//!   same for all versions of our package;
//! - `Calls`: the type that implements these interfaces for one call of the guest;
//! - its state for an instance or for a call, in a file of its own: `Guest` owns one field of this type;
//! - its counters, which `Counters` collects;
//! - its tests.
//!
//! To add one, write the folder and add it to `ALL`.

pub(crate) mod answer;
pub(crate) mod client;
pub(crate) mod config;
mod delivery;
mod error;
pub(crate) mod http;
mod interface;
pub(crate) mod keyvalue;
pub(crate) mod lister;
mod log;
pub(crate) mod metrics;
pub(crate) mod objects;
mod rate_budget;
pub(crate) mod secret;
mod timer;
mod workqueue;

pub use self::http::{
    Directory, Fence, HttpClient, HttpConfig, HttpConfigError, HttpGrant, HttpOutcome, HttpStats, Interfaces,
    InvalidHttpGrant, Protected, Resolver, SystemInterfaces, SystemResolver, Ticket, Wire,
};
pub use client::{ApiAnswer, ApiClient, ApiFailure, ApiRequest, ClientSource, ClientStats};
pub use config::{ConfigFilesError, ConfigSource, NoConfigFiles};
pub(crate) use interface::{Grant, Interface, VERSIONS};
pub use keyvalue::{
    Kept, KeyValueError, KeyValueSource, KeyValueStats, NoKeyValues, Place, Quota, entry_cost, write_cost,
};
pub use lister::{CacheState, IndexPage, ListError, ListerQuery, ListerSource};
pub use metrics::{MetricFamily, MetricKind, MetricValue, MetricsStats};
pub use secret::is_shown_of_secrets;
pub use timer::{NoTimers, TimerError, TimerSource};

/// All capabilities.
const ALL: [&[Interface]; 11] = [
    objects::INTERFACES,
    log::INTERFACES,
    delivery::INTERFACES,
    metrics::INTERFACES,
    lister::INTERFACES,
    client::INTERFACES,
    workqueue::INTERFACES,
    timer::INTERFACES,
    keyvalue::INTERFACES,
    http::INTERFACES,
    config::INTERFACES,
];

/// All interfaces that the host serves.
pub(crate) fn interfaces() -> impl Iterator<Item = &'static Interface> {
    ALL.into_iter().flatten()
}
