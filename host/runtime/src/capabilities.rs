//! What a guest may ask of the host: one module a WIT interface. What it asks of the rest of the process is a
//! trait here, which the composition root implements.

pub(crate) mod answer;
mod capability;
pub(crate) mod client;
pub(crate) mod config;
pub(crate) mod delivery;
mod error;
pub(crate) mod http;
pub(crate) mod keyvalue;
pub(crate) mod lister;
pub(crate) mod log;
pub(crate) mod logging;
pub(crate) mod meta;
pub(crate) mod metrics;
pub(crate) mod objects;
pub(crate) mod secret;
mod source;
mod workqueue;

pub use self::http::{
    HttpClient, HttpConfig, HttpConfigError, HttpGrant, HttpOutcome, HttpStats, InvalidHttpGrant, Protected,
    Resolver, SystemResolver, Ticket,
};
pub(crate) use capability::{Capability, Need};
pub use client::{ApiAnswer, ApiClient, ApiFailure, ApiRequest, ClientSource, ClientStats};
pub use config::{ConfigFilesError, ConfigSource, NoConfigFiles};
pub use keyvalue::{KeyValueError, KeyValueSource, NoKeyValues, Quota};
pub use metrics::{MetricFamily, MetricKind, MetricSeries, MetricValue, MetricsStats};
pub use source::{ListError, ListerQuery, ListerSource};
