//! The project's one histogram.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::json;

/// Counts of observations by upper bound, with their sum, their number and the largest of them.
///
/// The bounds are in the unit of the observations, sorted, without the infinite one: an observation above the last
/// bound is in no bucket, but it is part of the number, the sum and the maximum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    bounds: &'static [f64],
    /// The observations of each bucket alone, not cumulated.
    buckets: Box<[u64]>,
    count: u64,
    sum: f64,
    max: f64,
}

// === impl Histogram ===

impl Histogram {
    /// An empty histogram with these upper bounds.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, buckets: vec![0; bounds.len()].into(), count: 0, sum: 0.0, max: 0.0 }
    }

    /// Counts a value in the first bucket whose bound is not below it.
    pub fn observe(&mut self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.sum += value;
        self.max = self.max.max(value);
    }

    /// Counts a duration, in seconds.
    pub fn observe_duration(&mut self, duration: Duration) {
        self.observe(duration.as_secs_f64());
    }

    /// The number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all observations.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The largest observation; 0 if there was none above 0.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Each upper bound with the number of observations at or below it: cumulated, as Prometheus has them, without the
    /// infinite bound.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.bounds.iter().zip(&self.buckets).scan(0, |total, (bound, count)| {
            *total += count;
            Some((*bound, *total))
        })
    }
}

impl Serialize for Histogram {
    /// Writes durations that were observed in seconds: their sum and the longest in whole milliseconds, and the cumulated
    /// buckets.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let millis = |seconds| {
            let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
        };
        let buckets: Vec<(f64, u64)> = self.cumulative().collect();
        let (sum, longest) = (millis(self.sum), millis(self.max));
        json!({"count": self.count, "sum-ms": sum, "longest-ms": longest, "buckets": buckets}).serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_is_counted_in_the_first_bucket_that_holds_it() {
        let mut histogram = Histogram::new(&[0.01, 0.1, 1.0]);
        for value in [0.0, 0.01, 0.02, 1.0, 5.0] {
            histogram.observe(value);
        }

        assert_eq!(histogram.cumulative().collect::<Vec<_>>(), [(0.01, 2), (0.1, 3), (1.0, 4)]);
        assert_eq!((histogram.count(), histogram.max()), (5, 5.0));
        assert!((histogram.sum() - 6.03).abs() < 1e-9);
    }

    #[test]
    fn durations_are_counted_in_seconds() {
        let mut histogram = Histogram::new(&[0.5, 5.0]);
        histogram.observe_duration(Duration::from_millis(1_500));

        assert_eq!(histogram.cumulative().collect::<Vec<_>>(), [(0.5, 0), (5.0, 1)]);
    }

    #[test]
    fn a_value_that_is_not_a_number_does_not_panic() {
        let mut histogram = Histogram::new(&[1.0]);
        histogram.observe(f64::NAN);

        assert_eq!(histogram.count(), 1);
    }
}
