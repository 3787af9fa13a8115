//! Families of samples as OpenMetrics text, which Prometheus reads.

use std::{collections::BTreeMap, fmt, time::Duration};

use informer_types::Histogram;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::Registry,
};

/// What `Exposition::text` is.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a sample measures.
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
    samples: Vec<(Vec<(String, String)>, Sample)>,
}

#[derive(Debug)]
enum Sample {
    Counter(f64),
    Gauge(f64),
    Histogram(Histogram),
}

// === impl Exposition ===

impl Exposition {
    /// A counter; its name is without `_total`.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    pub(crate) fn counter(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: u64) {
        self.add(name, help, owned(labels), Sample::Counter(value as f64));
    }

    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    pub(crate) fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: usize) {
        self.add(name, help, owned(labels), Sample::Gauge(value as f64));
    }

    pub(crate) fn seconds(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: Duration) {
        self.add(name, help, owned(labels), Sample::Gauge(value.as_secs_f64()));
    }

    /// A counter of any number.
    pub(crate) fn sum(&mut self, name: &str, help: &str, labels: Vec<(String, String)>, value: f64) {
        self.add(name, help, labels, Sample::Counter(value));
    }

    /// A gauge of any number.
    pub(crate) fn number(&mut self, name: &str, help: &str, labels: Vec<(String, String)>, value: f64) {
        self.add(name, help, labels, Sample::Gauge(value));
    }

    pub(crate) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        labels: Vec<(String, String)>,
        histogram: &Histogram,
    ) {
        self.add(name, help, labels, Sample::Histogram(histogram.clone()));
    }

    fn add(&mut self, name: &str, help: &str, labels: Vec<(String, String)>, sample: Sample) {
        let family = self
            .families
            .entry(name.to_owned())
            .or_insert_with(|| Family { help: help.to_owned(), samples: Vec::new() });
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
            // The encoder adds a full stop itself.
            let mut described = encoder.encode_descriptor(name, &family.help, None, family.kind())?;
            // Samples of one name lie together.
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
    /// Where it has samples of several kinds, and so of several names, nothing is said of the whole.
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

/// The observations of each bucket alone, with a last bucket for values above all bounds: the encoder cumulates them.
fn buckets(histogram: &Histogram) -> Vec<(f64, u64)> {
    let cumulative = histogram.cumulative().chain([(f64::INFINITY, histogram.count())]);
    let each = cumulative.scan(0, |before, (bound, total)| {
        let count = total - *before;
        *before = total;
        Some((bound, count))
    });
    each.collect()
}

fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sample_is_called_does_not_depend_on_others() {
        let labels = |plugin: &str| vec![("plugin".to_owned(), plugin.to_owned())];
        let mut one = Exposition::default();
        one.sum("x_seen", "Seen", labels("a"), 1.0);
        let mut several = Exposition::default();
        several.number("x_seen", "Seen", labels("b"), 2.0);
        several.sum("x_seen", "Seen", labels("a"), 1.0);
        let mut histogram = Histogram::new(&[]);
        histogram.observe(0.5);
        several.histogram("x_seen", "Seen", labels("c"), &histogram);
        several.number("x_seen", "Seen", labels("d"), 3.0);

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
    fn a_value_is_counted_in_one_bucket_and_the_largest_in_the_last() {
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
