//! `metrics`: what a plugin measures itself. The values belong to the plugin and outlive its versions.

mod registry;

pub(crate) use registry::Registry;
pub use registry::{MetricFamily, MetricKind, MetricSeries, MetricValue, MetricsStats};

use crate::{
    bindings::informer::plugin::{
        metrics,
        types::{Error, ErrorCode},
    },
    guest::Guest,
};

impl Guest {
    fn measure(
        &mut self,
        kind: MetricKind,
        name: &str,
        labels: Vec<(String, String)>,
        value: f64,
    ) -> Result<(), Error> {
        let limit = self.config.limits.metric_series;
        let measured = self.counters.metrics.measure(kind, name, labels, value, limit);
        measured.map_err(|refused| {
            let code = match refused {
                registry::Refused::TooMany { .. } => ErrorCode::LimitExceeded,
                _ => ErrorCode::Invalid,
            };
            Error::new(code, refused.to_string())
        })
    }
}

impl metrics::Host for Guest {
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
