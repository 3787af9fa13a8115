//! `GET /metrics`: the host's own metrics by stage and plugin, and the plugins' own.
//!
//! Everything is read from the statistics that the stages keep anyway, at the moment of the scrape: nothing is counted
//! twice, and nothing is counted for nobody. Labels are bounded: plugins, watches, and words of this code.

mod exposition;
mod filter;
mod informer;
mod plugin;
mod queue;
mod workqueue;

pub use exposition::CONTENT_TYPE;
pub(crate) use exposition::Exposition;
pub(crate) use informer::informer;
pub(crate) use plugin::{Measured, plugin, plugins_own};
