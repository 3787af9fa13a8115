//! Families: what is measured, and how the value is read from the statistics of a stage.

use std::time::Duration;

use informer_types::Histogram;

use super::exposition::{Exposition, Labels};

/// One family of metrics about a `T`. Adding a metric is adding a line to a list of families.
pub(super) struct Family<T: 'static> {
    /// The name, without `_total` for a counter.
    name: &'static str,
    help: &'static str,
    read: Read<T>,
}

enum Read<T: 'static> {
    Counter(fn(&T) -> u64),
    /// A counter for each value of one more label.
    Counters(&'static str, fn(&T) -> Vec<(String, u64)>),
    /// A counter of seconds.
    TotalSeconds(fn(&T) -> Duration),
    Gauge(fn(&T) -> usize),
    /// A gauge of seconds. Left out if it returns `None`.
    Seconds(fn(&T) -> Option<Duration>),
    Histogram(fn(&T) -> &Histogram),
}

// === impl Family ===

impl<T: 'static> Family<T> {
    pub(super) const fn counter(name: &'static str, help: &'static str, read: fn(&T) -> u64) -> Self {
        Self { name, help, read: Read::Counter(read) }
    }

    pub(super) const fn counters(
        name: &'static str,
        label: &'static str,
        help: &'static str,
        read: fn(&T) -> Vec<(String, u64)>,
    ) -> Self {
        Self { name, help, read: Read::Counters(label, read) }
    }

    pub(super) const fn total_seconds(
        name: &'static str,
        help: &'static str,
        read: fn(&T) -> Duration,
    ) -> Self {
        Self { name, help, read: Read::TotalSeconds(read) }
    }

    pub(super) const fn gauge(name: &'static str, help: &'static str, read: fn(&T) -> usize) -> Self {
        Self { name, help, read: Read::Gauge(read) }
    }

    pub(super) const fn seconds(
        name: &'static str,
        help: &'static str,
        read: fn(&T) -> Option<Duration>,
    ) -> Self {
        Self { name, help, read: Read::Seconds(read) }
    }

    pub(super) const fn histogram(
        name: &'static str,
        help: &'static str,
        read: fn(&T) -> &Histogram,
    ) -> Self {
        Self { name, help, read: Read::Histogram(read) }
    }
}

/// Adds the samples of these families about one subject.
pub(super) fn expose<T: 'static>(
    families: &[Family<T>],
    of: &T,
    labels: &[(&str, &str)],
    into: &mut Exposition,
) {
    let labels: Labels =
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for Family { name, help, read } in families {
        match read {
            Read::Counter(read) => into.counter(name, help, labels.clone(), count(read(of))),
            Read::Counters(label, read) => {
                for (value, number) in read(of) {
                    let mut labels = labels.clone();
                    labels.push(((*label).to_owned(), value));
                    into.counter(name, help, labels, count(number));
                }
            }
            Read::TotalSeconds(read) => into.counter(name, help, labels.clone(), read(of).as_secs_f64()),
            Read::Gauge(read) => into.gauge(name, help, labels.clone(), count(read(of) as u64)),
            Read::Seconds(read) => {
                if let Some(time) = read(of) {
                    into.gauge(name, help, labels.clone(), time.as_secs_f64());
                }
            }
            Read::Histogram(read) => into.histogram(name, help, labels.clone(), read(of)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}
