//! Families of samples as OpenMetrics text, which Prometheus reads.

use std::{collections::BTreeMap, fmt};

use informer_types::Histogram;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::Registry,
};

/// The content type of the metrics in the OpenMetrics text format.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Names of labels with their values.
pub(super) type Labels = Vec<(String, String)>;

/// The kind of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
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
    help: String,
    samples: Vec<(Labels, Sample)>,
}

#[derive(Debug)]
enum Sample {
    Counter(f64),
    Gauge(f64),
    Histogram(Histogram),
}

// === impl Exposition ===

impl Exposition {
    /// Adds a sample of a counter; the name is without `_total`.
    pub(super) fn counter(&mut self, name: &str, help: &str, labels: Labels, value: f64) {
        self.add(name, help, labels, Sample::Counter(value));
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, labels: Labels, value: f64) {
        self.add(name, help, labels, Sample::Gauge(value));
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str, labels: Labels, value: &Histogram) {
        self.add(name, help, labels, Sample::Histogram(value.clone()));
    }

    fn add(&mut self, name: &str, help: &str, labels: Labels, sample: Sample) {
        let family = self
            .families
            .entry(name.to_owned())
            .or_insert_with(|| Family { help: help.to_owned(), samples: Vec::new() });
        family.samples.push((labels, sample));
    }

    /// Returns the whole text, sorted by family.
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
            // The encoder adds the full stop of the help.
            let mut described = encoder.encode_descriptor(name, &family.help, None, family.kind())?;
            // OpenMetrics wants the samples of one name together.
            for kind in [Kind::Counter, Kind::Gauge, Kind::Histogram] {
                for (labels, sample) in family.samples.iter().filter(|(_, sample)| sample.kind() == kind) {
                    sample.write(described.encode_family(labels)?)?;
                }
            }
        }
        Ok(())
    }
}

// === impl Family ===

impl Family {
    /// The kind of all samples. A family with samples of several kinds, and so of several names, has an unknown kind.
    fn kind(&self) -> MetricType {
        let mut kinds = self.samples.iter().map(|(_, sample)| sample.kind());
        let first = kinds.next();
        match first.filter(|first| kinds.all(|kind| kind == *first)) {
            Some(Kind::Counter) => MetricType::Counter,
            Some(Kind::Gauge) => MetricType::Gauge,
            Some(Kind::Histogram) => MetricType::Histogram,
            None => MetricType::Unknown,
        }
    }
}

// === impl Sample ===

impl Sample {
    fn kind(&self) -> Kind {
        match self {
            Self::Counter(_) => Kind::Counter,
            Self::Gauge(_) => Kind::Gauge,
            Self::Histogram(_) => Kind::Histogram,
        }
    }

    fn write(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        match self {
            Self::Counter(value) => encoder.encode_counter::<NoLabelSet, f64, f64>(value, None),
            Self::Gauge(value) => encoder.encode_gauge(value),
            Self::Histogram(histogram) => {
                let (sum, count) = (histogram.sum(), histogram.count());
                encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets(histogram), None)
            }
        }
    }
}

/// The values of each bucket alone, with a last bucket for values above every bound: the encoder cumulates them.
fn buckets(histogram: &Histogram) -> Vec<(f64, u64)> {
    let cumulated = histogram.cumulative().chain([(f64::INFINITY, histogram.count())]);
    let each = cumulated.scan(0, |before, (bound, total)| {
        let count = total - *before;
        *before = total;
        Some((bound, count))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_sample_does_not_depend_on_other_samples() {
        let labels = |plugin: &str| vec![("plugin".to_owned(), plugin.to_owned())];
        let mut one = Exposition::default();
        one.counter("x_seen", "Seen", labels("a"), 1.0);
        let mut several = Exposition::default();
        several.gauge("x_seen", "Seen", labels("b"), 2.0);
        several.counter("x_seen", "Seen", labels("a"), 1.0);
        let mut histogram = Histogram::new(&[]);
        histogram.observe(0.5);
        several.histogram("x_seen", "Seen", labels("c"), &histogram);
        several.gauge("x_seen", "Seen", labels("d"), 3.0);

        let (one, several) = (one.text(), several.text());

        assert!(one.contains("# TYPE x_seen counter\n"), "{one}");
        assert!(several.contains("# TYPE x_seen unknown\n"), "{several}");
        let samples: Vec<&str> = several.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                r#"x_seen_total{plugin="a"} 1.0"#,
                r#"x_seen{plugin="b"} 2.0"#,
                r#"x_seen{plugin="d"} 3.0"#,
                r#"x_seen_sum{plugin="c"} 0.5"#,
                r#"x_seen_count{plugin="c"} 1"#,
                r#"x_seen_bucket{le="+Inf",plugin="c"} 1"#,
            ]
        );
        assert!(one.contains(samples[0]), "{one}");
    }

    #[test]
    fn each_value_is_in_one_bucket_and_values_above_every_bound_are_in_the_last() {
        let mut histogram = Histogram::new(&[0.1, 1.0, 10.0]);
        for seconds in [0.0, 1.0, 1.0, 5_000.0] {
            histogram.observe(seconds);
        }

        let buckets = buckets(&histogram);

        let filled: Vec<u64> = buckets.iter().map(|(_, count)| *count).filter(|count| *count > 0).collect();
        assert_eq!(filled, [1, 2, 1]);
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, 1)));
    }
}
