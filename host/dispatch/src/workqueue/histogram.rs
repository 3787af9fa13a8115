//! Durations by their order of magnitude.

use std::time::Duration;

/// client-go's buckets for queue latency and work duration: ten times the one before, from 10 ns on.
const BOUNDS: usize = 12;
const FIRST_NANOS: u128 = 10;

/// How many durations there were, how long together, and how many were at most 10 ns, 100 ns, ... 1000 s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurationHistogram {
    count: u64,
    sum: Duration,
    longest: Duration,
    /// Not cumulative; what is longer than the last bound is in none.
    buckets: [u64; BOUNDS],
}

// === impl DurationHistogram ===

impl DurationHistogram {
    /// One more.
    pub fn observe(&mut self, duration: Duration) {
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
        self.longest = self.longest.max(duration);
        let mut bound = FIRST_NANOS;
        for bucket in &mut self.buckets {
            if duration.as_nanos() <= bound {
                *bucket += 1;
                return;
            }
            bound *= 10;
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// The longest.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// The upper bounds in seconds, and how many were at most so long: cumulative, as Prometheus has them.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.buckets.iter().scan((1e-8, 0), |(bound, total), count| {
            *total += count;
            let item = (*bound, *total);
            *bound *= 10.0;
            Some(item)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_in_the_first_bucket_that_holds_it() {
        let mut histogram = DurationHistogram::default();
        for duration in [0, 10, 11, 1_000_000_000, 1_000_000_000_000, 1_000_000_000_001] {
            histogram.observe(Duration::from_nanos(duration));
        }

        let counts: Vec<u64> = histogram.buckets().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 5]);
        let bounds: Vec<f64> = histogram.buckets().map(|(bound, _)| bound).collect();
        assert!((bounds[8] - 1.0).abs() < 1e-9 && (bounds[11] - 1000.0).abs() < 1e-6, "{bounds:?}");
        assert_eq!(histogram.count(), 6);
        assert_eq!(histogram.longest(), Duration::from_nanos(1_000_000_000_001));
    }
}
