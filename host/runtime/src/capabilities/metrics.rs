//! `metrics`: what a plugin measures itself. The values belong to the plugin and outlive its versions.

mod registry;

use wasmtime::component::HasData;

pub(crate) use registry::Registry;
pub use registry::{MetricFamily, MetricKind, MetricSeries, MetricValue, MetricsStats};

use super::interface::Interface;
use crate::{
    bindings::informer::plugin::{
        metrics,
        types::{Error, ErrorCode},
    },
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[Interface::ours("informer:plugin/metrics", |linker| {
    metrics::add_to_linker::<_, Calls<'static>>(linker, |guest| Calls(guest.called()))
})];

/// A call of the guest to this capability.
struct Calls<'a>(&'a mut Guest);

impl HasData for Calls<'static> {
    type Data<'a> = Calls<'a>;
}

// === impl Calls ===

impl Calls<'_> {
    fn measure(
        &self,
        kind: MetricKind,
        name: &str,
        labels: Vec<(String, String)>,
        value: f64,
    ) -> Result<(), Error> {
        let limit = self.0.config.limits.metric_series;
        let measured = self.0.counters.metrics.measure(kind, name, labels, value, limit);
        measured.map_err(|refused| {
            let code = match refused {
                registry::Refused::TooMany { .. } => ErrorCode::LimitExceeded,
                _ => ErrorCode::Invalid,
            };
            Error::new(code, refused.to_string())
        })
    }
}

impl metrics::Host for Calls<'_> {
    fn counter_add(&mut self, name: String, labels: Vec<(String, String)>, value: f64) -> Result<(), Error> {
        self.measure(MetricKind::Counter, &name, labels, value)
    }

    fn gauge_set(&mut self, name: String, labels: Vec<(String, String)>, value: f64) -> Result<(), Error> {
        self.measure(MetricKind::Gauge, &name, labels, value)
    }

    fn histogram_observe(
        &mut self,
        name: String,
        labels: Vec<(String, String)>,
        value: f64,
    ) -> Result<(), Error> {
        self.measure(MetricKind::Histogram, &name, labels, value)
    }
}
