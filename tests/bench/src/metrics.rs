//! The metrics of a host: its answer to `GET /metrics`, in the text format of Prometheus.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// The samples of one scrape.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metrics(Vec<Sample>);

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

// === impl Metrics ===

impl Metrics {
    /// Reads the samples.
    ///
    /// # Errors
    /// A line is neither a comment nor a sample.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let samples = lines.map(|line| sample(line).with_context(|| format!("`{line}` is no sample")));
        Ok(Self(samples.collect::<Result<_>>()?))
    }

    /// The value of the first series with this name and these labels. The series may have further labels. Returns `None` if there is no
    /// such series.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.of(name, labels).next().map(|sample| sample.value)
    }

    /// The value of a series that the host must have.
    ///
    /// # Errors
    /// The host does not have the series.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        self.get(name, labels).with_context(|| format!("the host has no metric {name} with {labels:?}"))
    }

    /// The sum of all series of this name.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.of(name, &[]).map(|sample| sample.value).sum()
    }

    /// The buckets of a histogram with these labels, in order: the upper bound, and the number of values up to it.
    pub(crate) fn buckets(&self, histogram: &str, labels: &[(&str, &str)]) -> Vec<(f64, f64)> {
        let name = format!("{histogram}_bucket");
        let bound = |sample: &Sample| sample.labels.get("le")?.parse::<f64>().ok();
        let mut buckets: Vec<(f64, f64)> =
            self.of(&name, labels).filter_map(|sample| Some((bound(sample)?, sample.value))).collect();
        buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        buckets
    }

    fn of(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = &Sample> {
        let has = move |sample: &Sample| {
            sample.name == name
                && labels
                    .iter()
                    .all(|(label, value)| sample.labels.get(*label).is_some_and(|own| own == value))
        };
        self.0.iter().filter(move |sample| has(sample))
    }
}

/// `name{label="value",..} 1.5`, with or without labels.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at_checked(end)?;
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Sample { name: name.to_owned(), labels, value })
}

/// The labels up to the closing brace, and the text after the brace.
fn labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches(',');
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (label, quoted) = rest.split_once("=\"")?;
        let (value, after) = quoted_value(quoted)?;
        labels.insert(label.to_owned(), value);
        rest = after;
    }
}

/// A value up to its closing quote, and the text after the quote.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let (mut value, mut characters) = (String::new(), text.chars());
    loop {
        match characters.next()? {
            '"' => return Some((value, characters.as_str())),
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# HELP informer_queue_acknowledged_total Notifications whose handler returned ok.
# TYPE informer_queue_acknowledged_total counter
informer_queue_acknowledged_total{plugin=\"a\"} 12.0
informer_queue_acknowledged_total{plugin=\"b\"} 30.0

informer_filter_suppressed_total{plugin=\"b\",watch=\"v1/pods\",condition=\"when\"} 7
process_cpu_seconds_total 1.5
wait_sum{plugin=\"a\"} 0.5
wait_bucket{le=\"+Inf\",plugin=\"a\"} 3
wait_bucket{le=\"0.5\",plugin=\"a\"} 2
wait_bucket{le=\"0.5\",plugin=\"b\"} 9
";

    #[test]
    fn a_series_is_found_by_its_name_and_some_of_its_labels() {
        let metrics = Metrics::parse(TEXT).unwrap();

        assert_eq!(metrics.get("informer_queue_acknowledged_total", &[("plugin", "b")]), Some(30.0));
        let suppressed = [("condition", "when"), ("plugin", "b")];
        assert_eq!(metrics.value("informer_filter_suppressed_total", &suppressed).unwrap(), 7.0);
        assert_eq!(metrics.get("process_cpu_seconds_total", &[]), Some(1.5));
        assert_eq!(metrics.get("informer_queue_acknowledged_total", &[("plugin", "c")]), None);
        let error = metrics.value("no_such", &[("plugin", "b")]).unwrap_err();
        assert_eq!(error.to_string(), r#"the host has no metric no_such with [("plugin", "b")]"#);
    }

    #[test]
    fn all_series_of_a_name_have_a_sum() {
        let metrics = Metrics::parse(TEXT).unwrap();

        assert_eq!(metrics.sum("informer_queue_acknowledged_total"), 42.0);
        assert_eq!(metrics.sum("no_such"), 0.0);
    }

    #[test]
    fn the_buckets_of_one_histogram_are_in_order() {
        let metrics = Metrics::parse(TEXT).unwrap();

        assert_eq!(metrics.buckets("wait", &[("plugin", "a")]), [(0.5, 2.0), (f64::INFINITY, 3.0)]);
    }

    #[test]
    fn values_of_labels_may_have_any_characters() {
        let metrics = Metrics::parse(r#"m{text="a \"b\",c=\"}\\\n"} 1"#).unwrap();

        assert_eq!(metrics.get("m", &[("text", "a \"b\",c=\"}\\\n")]), Some(1.0));
    }

    #[test]
    fn a_line_that_is_no_sample_is_an_error() {
        for line in ["m", "m{a=\"b\" 1", "m{a=b} 1", "m one"] {
            let error = Metrics::parse(line).unwrap_err();

            assert_eq!(error.to_string(), format!("`{line}` is no sample"));
        }
    }
}
