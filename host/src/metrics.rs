//! `GET /metrics`: the host's metrics by stage and plugin, and the plugins' own.
//!
//! All values come from the statistics that the stages keep anyway, at the moment of the scrape. The values of labels are
//! bounded: plugins, watches, and words of this code.

mod exposition;
mod families;
mod format;
mod scrapes;

pub(crate) use exposition::Exposition;
pub(crate) use families::{
    CACHE_MEMORY, CONFIGURATION, ELECTION, FILTER, GUEST_MEMORY, LOADED, PULLS, QUEUE, READY, RECEIPTS,
    RUNTIME, SIGNALS, STATE, TELEMETRY, VERSION, WORKQUEUE, expose, informer, process,
};
pub(crate) use scrapes::Scrapes;
