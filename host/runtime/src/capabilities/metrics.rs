//! `metrics`: the plugin's own metrics. The values belong to the plugin and outlive its versions.

mod registry;

use wasmtime::component::HasSelf;

pub(crate) use registry::Registry;
pub use registry::{MetricFamily, MetricKind, MetricValue, MetricsStats};

use super::interface::Interface;
use crate::{
    bindings::informer::plugin::{
        metrics,
        types::{Error, ErrorCode},
    },
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[Interface::ours("informer:plugin/metrics", |instance| {
    metrics::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
})];

impl metrics::Host for Guest {
    fn counter_add(&mut self, name: String, labels: Vec<(String, String)>, value: f64) -> Result<(), Error> {
        measure(self, MetricKind::Counter, &name, labels, value)
    }

    fn gauge_set(&mut self, name: String, labels: Vec<(String, String)>, value: f64) -> Result<(), Error> {
        measure(self, MetricKind::Gauge, &name, labels, value)
    }

    fn histogram_observe(
        &mut self,
        name: String,
        labels: Vec<(String, String)>,
        value: f64,
    ) -> Result<(), Error> {
        measure(self, MetricKind::Histogram, &name, labels, value)
    }
}

fn measure(
    guest: &Guest,
    kind: MetricKind,
    name: &str,
    labels: Vec<(String, String)>,
    value: f64,
) -> Result<(), Error> {
    let limit = guest.config.limits.metric_series;
    guest.counters.metrics.measure(kind, name, labels, value, limit).map_err(|refused| {
        let code = match refused {
            registry::Refused::TooMany { .. } => ErrorCode::LimitExceeded,
            _ => ErrorCode::Invalid,
        };
        Error::new(code, refused.to_string())
    })
}
