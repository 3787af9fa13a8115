//! Families of samples as OpenMetrics text, which Prometheus reads.

use std::{collections::BTreeMap, fmt};

use informer_runtime::capabilities::{MetricFamily, MetricKind, MetricValue};
use informer_types::Histogram;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::Registry,
};

/// Names of labels with their values.
pub(super) type Labels = Vec<(String, String)>;

/// The samples of one scrape.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    families: BTreeMap<String, Family>,
}

#[derive(Debug)]
struct Family {
    help: &'static str,
    samples: Vec<(Labels, MetricKind, MetricValue)>,
}

// === impl Exposition ===

impl Exposition {
    /// Adds a sample; the name of a counter is without `_total`.
    pub(super) fn add(
        &mut self,
        name: &str,
        help: &'static str,
        labels: Labels,
        kind: MetricKind,
        value: MetricValue,
    ) {
        let family = self.families.entry(name.to_owned());
        family.or_insert_with(|| Family { help, samples: Vec::new() }).samples.push((labels, kind, value));
    }

    /// Adds the plugin's own metrics, below a prefix that no metric of the host has. If two plugins use one name for different
    /// kinds, the samples differ by their endings.
    pub(crate) fn add_own(&mut self, plugin: &str, own: BTreeMap<String, MetricFamily>) {
        for (name, MetricFamily { kind, series }) in own {
            let name = format!("informer_plugin_{name}");
            for (own, value) in series {
                let mut labels = vec![("plugin".to_owned(), plugin.to_owned())];
                labels.extend(own);
                self.add(&name, "Measured by plugins themselves", labels, kind, value);
            }
        }
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
            let mut described = encoder.encode_descriptor(name, family.help, None, family.kind())?;
            // OpenMetrics wants the samples of one name together.
            for kind in [MetricKind::Counter, MetricKind::Gauge, MetricKind::Histogram] {
                for (labels, _, value) in family.samples.iter().filter(|(_, own, _)| *own == kind) {
                    write(kind, value, described.encode_family(labels)?)?;
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
        let mut kinds = self.samples.iter().map(|(_, kind, _)| *kind);
        let first = kinds.next();
        match first.filter(|first| kinds.all(|kind| kind == *first)) {
            Some(MetricKind::Counter) => MetricType::Counter,
            Some(MetricKind::Gauge) => MetricType::Gauge,
            Some(MetricKind::Histogram) => MetricType::Histogram,
            None => MetricType::Unknown,
        }
    }
}

fn write(kind: MetricKind, value: &MetricValue, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    match value {
        MetricValue::Number(value) if kind == MetricKind::Counter => {
            encoder.encode_counter::<NoLabelSet, f64, f64>(value, None)
        }
        MetricValue::Number(value) => encoder.encode_gauge(value),
        MetricValue::Histogram(histogram) => {
            let (sum, count) = (histogram.sum(), histogram.count());
            encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets(histogram), None)
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
        let add = |to: &mut Exposition, plugin: &str, kind, value| {
            to.add("x_seen", "Seen", vec![("plugin".to_owned(), plugin.to_owned())], kind, value);
        };
        let mut one = Exposition::default();
        add(&mut one, "a", MetricKind::Counter, MetricValue::Number(1.0));
        let mut several = Exposition::default();
        add(&mut several, "b", MetricKind::Gauge, MetricValue::Number(2.0));
        add(&mut several, "a", MetricKind::Counter, MetricValue::Number(1.0));
        let mut histogram = Histogram::new(&[]);
        histogram.observe(0.5);
        add(&mut several, "c", MetricKind::Histogram, MetricValue::Histogram(histogram));
        add(&mut several, "d", MetricKind::Gauge, MetricValue::Number(3.0));

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
