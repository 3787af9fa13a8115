//! Families of samples as OpenMetrics text, which Prometheus reads.

use std::{collections::BTreeMap, fmt, time::Duration};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::Registry,
};

/// What `Exposition::text` is.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a family measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// The samples of one scrape.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    families: BTreeMap<String, Family>,
}

#[derive(Debug)]
struct Family {
    kind: Kind,
    help: String,
    samples: Vec<(Vec<(String, String)>, Sample)>,
}

#[derive(Debug)]
enum Sample {
    Number(f64),
    Distribution { sum: f64, buckets: Vec<(f64, u64)> },
}

// === impl Exposition ===

impl Exposition {
    /// A counter; its name is without `_total`.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    pub(crate) fn counter(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: u64) {
        self.add(name, (Kind::Counter, help), owned(labels), Sample::Number(value as f64));
    }

    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    pub(crate) fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: usize) {
        self.add(name, (Kind::Gauge, help), owned(labels), Sample::Number(value as f64));
    }

    pub(crate) fn seconds(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: Duration) {
        self.add(name, (Kind::Gauge, help), owned(labels), Sample::Number(value.as_secs_f64()));
    }

    pub(crate) fn number(
        &mut self,
        name: &str,
        (kind, help): (Kind, &str),
        labels: Vec<(String, String)>,
        value: f64,
    ) {
        self.add(name, (kind, help), labels, Sample::Number(value));
    }

    /// Buckets by their upper bounds, not cumulated.
    pub(crate) fn distribution(
        &mut self,
        name: &str,
        help: &str,
        labels: Vec<(String, String)>,
        (sum, buckets): (f64, Vec<(f64, u64)>),
    ) {
        self.add(name, (Kind::Histogram, help), labels, Sample::Distribution { sum, buckets });
    }

    fn add(&mut self, name: &str, (kind, help): (Kind, &str), labels: Vec<(String, String)>, sample: Sample) {
        let family = self.families.entry(name.to_owned()).or_insert_with(|| Family {
            kind,
            help: help.to_owned(),
            samples: Vec::new(),
        });
        debug_assert_eq!(family.kind, kind, "{name}");
        family.samples.push((labels, sample));
    }

    /// The whole text, families by name.
    pub(crate) fn text(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut written = String::new();
        // Writing to a string does not fail.
        match text::encode(&mut written, &registry) {
            Ok(()) => written,
            Err(fmt::Error) => String::new(),
        }
    }
}

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, family) in &self.families {
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            // The encoder adds a full stop itself.
            let mut described = encoder.encode_descriptor(name, &family.help, None, kind)?;
            for (labels, sample) in &family.samples {
                write(described.encode_family(labels)?, family.kind, sample)?;
            }
        }
        Ok(())
    }
}

fn write(mut encoder: MetricEncoder<'_>, kind: Kind, sample: &Sample) -> fmt::Result {
    match sample {
        Sample::Number(value) if kind == Kind::Counter => {
            encoder.encode_counter::<NoLabelSet, f64, f64>(value, None)
        }
        Sample::Number(value) => encoder.encode_gauge(value),
        Sample::Distribution { sum, buckets } => {
            let count = buckets.iter().map(|(_, count)| count).sum();
            encoder.encode_histogram::<NoLabelSet>(*sum, count, buckets, None)
        }
    }
}

fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
