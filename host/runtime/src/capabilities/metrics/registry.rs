//! The metrics of one plugin, bounded by their number of series.

use std::collections::BTreeMap;

use informer_types::Histogram;
use parking_lot::Mutex;

/// Upper bounds of the buckets of every histogram. One more bucket holds larger values.
static BOUNDS: [f64; 19] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0,
    500.0, 1000.0,
];

/// Limits of names and labels: a series is kept for good.
const NAME_BYTES: usize = 128;
const VALUE_BYTES: usize = 256;
const LABELS: usize = 16;

/// Endings that the exposition itself appends to names.
const SUFFIXES: [&str; 5] = ["_bucket", "_sum", "_count", "_created", "_info"];

/// Names and values of labels.
type Labels = Vec<(String, String)>;

/// The kind of a metric. The first use of a name fixes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricKind {
    /// A sum that only grows.
    Counter,
    /// A value that is set.
    Gauge,
    /// Observations, counted by size.
    Histogram,
}

/// A metric: all series of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricFamily {
    /// The kind, fixed by the first use of the name.
    pub kind: MetricKind,
    /// The value of each combination of labels. The labels are sorted by name.
    pub series: BTreeMap<Labels, MetricValue>,
}

/// The value of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricValue {
    /// The value of a counter or a gauge.
    Number(f64),
    /// The observations of a histogram.
    Histogram(Histogram),
}

/// Counters of the metrics of one plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricsStats {
    /// Series kept.
    pub series: usize,
    /// Values refused, for any reason.
    pub refused: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By the name that the plugin uses, without the `_total` of a counter.
    families: BTreeMap<String, MetricFamily>,
    stats: MetricsStats,
}

/// Why a value is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("`{0}` is not a valid name: use at most 128 of a-z, A-Z, 0-9 and `_`, no digit first, no `__`")]
    Name(String),
    #[error("`{name}` ends in `{suffix}`, which the exposition itself appends")]
    Suffix { name: String, suffix: &'static str },
    #[error("the label `{0}` is reserved for the host")]
    Reserved(String),
    #[error("the label `{0}` is given twice")]
    Twice(String),
    #[error("{0} labels; at most 16")]
    Labels(usize),
    #[error("the value of the label `{0}` has more than 256 bytes")]
    Value(String),
    #[error("`{name}` is a {was}; one name is one kind of metric")]
    Kind { name: String, was: &'static str },
    #[error("{0} cannot be added to a counter")]
    Negative(String),
    #[error("the value is not a number")]
    NotANumber,
    #[error(
        "the plugin has {limit} series, its limit: raise `metric-series` under [plugin.limits], or use fewer labels"
    )]
    TooMany { limit: usize },
}

// === impl MetricKind ===

impl MetricKind {
    /// The name of the kind in the exposition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

// === impl Registry ===

impl Registry {
    /// Records one value, or counts that it was refused.
    pub(super) fn measure(
        &self,
        kind: MetricKind,
        name: &str,
        labels: Labels,
        value: f64,
        limit: usize,
    ) -> Result<(), Refused> {
        let mut state = self.0.lock();
        let measured = state.measure(kind, name, labels, value, limit);
        if measured.is_err() {
            state.stats.refused += 1;
        }
        measured
    }

    pub(crate) fn stats(&self) -> MetricsStats {
        self.0.lock().stats
    }

    /// A snapshot of all families.
    pub(crate) fn families(&self) -> BTreeMap<String, MetricFamily> {
        self.0.lock().families.clone()
    }
}

// === impl State ===

impl State {
    fn measure(
        &mut self,
        kind: MetricKind,
        name: &str,
        labels: Labels,
        value: f64,
        limit: usize,
    ) -> Result<(), Refused> {
        let name = family_name(kind, name)?;
        let labels = checked(labels)?;
        if value.is_nan() {
            return Err(Refused::NotANumber);
        }
        if kind == MetricKind::Counter && !(value >= 0.0 && value.is_finite()) {
            return Err(Refused::Negative(value.to_string()));
        }
        if let Some(family) = self.families.get(name).filter(|family| family.kind != kind) {
            return Err(Refused::Kind { name: name.to_owned(), was: family.kind.as_str() });
        }
        let known = self.families.get_mut(name).and_then(|family| family.series.get_mut(&labels));
        if let Some(known) = known {
            known.take(kind, value);
            return Ok(());
        }
        if self.stats.series >= limit {
            return Err(Refused::TooMany { limit });
        }
        self.stats.series += 1;
        let new = || MetricFamily { kind, series: BTreeMap::new() };
        let family = self.families.entry(name.to_owned()).or_insert_with(new);
        family.series.entry(labels).or_insert_with(|| MetricValue::new(kind)).take(kind, value);
        Ok(())
    }
}

// === impl MetricValue ===

impl MetricValue {
    fn new(kind: MetricKind) -> Self {
        match kind {
            MetricKind::Counter | MetricKind::Gauge => Self::Number(0.0),
            MetricKind::Histogram => Self::Histogram(Histogram::new(&BOUNDS)),
        }
    }

    fn take(&mut self, kind: MetricKind, value: f64) {
        match self {
            Self::Number(number) if kind == MetricKind::Gauge => *number = value,
            Self::Number(number) => *number += value,
            Self::Histogram(histogram) => histogram.observe(value),
        }
    }
}

/// Returns the name of the family: a plugin may name a counter with or without `_total`.
fn family_name(kind: MetricKind, name: &str) -> Result<&str, Refused> {
    let name = if kind == MetricKind::Counter { name.strip_suffix("_total").unwrap_or(name) } else { name };
    if !is_name(name) {
        return Err(Refused::Name(shown(name)));
    }
    match SUFFIXES.iter().chain(&["_total"]).find(|suffix| name.ends_with(**suffix)) {
        Some(suffix) => Err(Refused::Suffix { name: name.to_owned(), suffix }),
        None => Ok(name),
    }
}

fn is_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    first && rest && name.len() <= NAME_BYTES && !name.contains("__")
}

fn checked(mut labels: Labels) -> Result<Labels, Refused> {
    if labels.len() > LABELS {
        return Err(Refused::Labels(labels.len()));
    }
    for (name, value) in &labels {
        if !is_name(name) {
            return Err(Refused::Name(shown(name)));
        }
        if matches!(name.as_str(), "plugin" | "le") {
            return Err(Refused::Reserved(name.clone()));
        }
        if value.len() > VALUE_BYTES {
            return Err(Refused::Value(name.clone()));
        }
    }
    labels.sort();
    let twice = labels.windows(2).find_map(|pair| match pair {
        [(one, _), (other, _)] if one == other => Some(one.clone()),
        _ => None,
    });
    twice.map_or(Ok(labels), |name| Err(Refused::Twice(name)))
}

fn shown(name: &str) -> String {
    name.chars().take(NAME_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_counter_adds_values_a_gauge_keeps_the_last_and_a_histogram_counts_by_size() {
        let registry = Registry::default();
        let take = |kind, name, value| registry.measure(kind, name, vec![], value, 10).unwrap();
        take(MetricKind::Counter, "seen_total", 1.0);
        take(MetricKind::Counter, "seen", 2.5);
        take(MetricKind::Gauge, "size", 7.0);
        take(MetricKind::Gauge, "size", -1.0);
        for value in [0.0005, 0.002, 3.0, 5000.0] {
            take(MetricKind::Histogram, "took_seconds", value);
        }

        let families = registry.families();

        let numbers: Vec<_> = families
            .iter()
            .map(|(name, family)| (name.as_str(), family.series.values().next().unwrap()))
            .collect();
        assert_eq!(numbers[0], ("seen", &MetricValue::Number(3.5)));
        assert_eq!(numbers[1], ("size", &MetricValue::Number(-1.0)));
        let MetricValue::Histogram(histogram) = numbers[2].1 else { panic!("{numbers:?}") };
        assert_eq!((histogram.sum(), histogram.count()), (5003.0025, 4));
        let cumulative: Vec<_> = histogram.cumulative().collect();
        assert_eq!(cumulative[..2], [(0.001, 1), (0.002, 2)]);
        assert_eq!(cumulative.last(), Some(&(1000.0, 3)), "the largest value is above the last bound");
    }

    #[test]
    fn labels_in_another_order_name_the_same_series() {
        let registry = Registry::default();
        for pairs in [[("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")]] {
            registry.measure(MetricKind::Counter, "x", labels(&pairs), 1.0, 10).unwrap();
        }

        assert_eq!(registry.stats(), MetricsStats { series: 1, refused: 0 });
        assert_eq!(
            registry.families()["x"].series[&labels(&[("a", "1"), ("b", "2")])],
            MetricValue::Number(2.0)
        );
    }

    #[test]
    fn at_the_limit_new_series_are_refused_and_existing_ones_still_count() {
        let registry = Registry::default();
        let take = |uid: &str| registry.measure(MetricKind::Counter, "x", labels(&[("uid", uid)]), 1.0, 100);
        let taken = (0..10_000).filter(|uid| take(&uid.to_string()).is_ok()).count();

        assert_eq!(taken, 100);
        assert_eq!(take("0"), Ok(()));
        assert_eq!(take("100"), Err(Refused::TooMany { limit: 100 }));
        assert_eq!(registry.stats(), MetricsStats { series: 100, refused: 9901 });
    }

    #[test]
    fn names_labels_and_values_that_would_break_the_exposition_are_refused() {
        let registry = Registry::default();
        let take = |kind, name: &str, pairs: &[(&str, &str)], value| {
            registry.measure(kind, name, labels(pairs), value, 10).unwrap_err().to_string()
        };
        registry.measure(MetricKind::Gauge, "size", vec![], 1.0, 10).unwrap();
        let long = "x".repeat(300);
        for (message, why) in [
            (take(MetricKind::Counter, "size", &[], 1.0), "`size` is a gauge"),
            (take(MetricKind::Counter, "", &[], 1.0), "is not a valid name"),
            (take(MetricKind::Counter, "1x", &[], 1.0), "is not a valid name"),
            (take(MetricKind::Counter, "a b", &[], 1.0), "is not a valid name"),
            (take(MetricKind::Counter, "a\n", &[], 1.0), "is not a valid name"),
            (take(MetricKind::Counter, "a__b", &[], 1.0), "is not a valid name"),
            (take(MetricKind::Counter, &long, &[], 1.0), "is not a valid name"),
            (take(MetricKind::Gauge, "x_total", &[], 1.0), "ends in `_total`"),
            (take(MetricKind::Gauge, "x_bucket", &[], 1.0), "ends in `_bucket`"),
            (take(MetricKind::Counter, "x", &[], -1.0), "-1 cannot be added"),
            (take(MetricKind::Counter, "x", &[], f64::INFINITY), "inf cannot be added"),
            (take(MetricKind::Gauge, "x", &[], f64::NAN), "not a number"),
            (take(MetricKind::Gauge, "x", &[("plugin", "other")], 1.0), "reserved for the host"),
            (take(MetricKind::Gauge, "x", &[("le", "1")], 1.0), "reserved for the host"),
            (take(MetricKind::Gauge, "x", &[("a\"", "1")], 1.0), "is not a valid name"),
            (take(MetricKind::Gauge, "x", &[("a", "1"), ("a", "2")], 1.0), "given twice"),
            (take(MetricKind::Gauge, "x", &[("a", &long)], 1.0), "more than 256 bytes"),
            (take(MetricKind::Gauge, "x", &[("a", "1"); 17], 1.0), "17 labels"),
        ] {
            assert!(message.contains(why), "{message}: {why}");
        }
        assert_eq!(registry.stats(), MetricsStats { series: 1, refused: 18 });
    }
}
