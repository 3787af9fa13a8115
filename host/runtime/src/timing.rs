//! How long things take, as a histogram.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds in seconds: a call takes from microseconds to its deadline.
const BOUNDS: [f64; 13] = [1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];

/// A snapshot of durations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// Of all of them.
    pub sum: Duration,
    /// How many, by the upper bound of their bucket in seconds, not cumulated; the last bound is infinite.
    pub buckets: Vec<(f64, u64)>,
}

#[derive(Debug, Default)]
pub(crate) struct Timer {
    nanos: AtomicU64,
    counts: [AtomicU64; BOUNDS.len()],
    longer: AtomicU64,
}

// === impl Timer ===

impl Timer {
    pub(crate) fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS.iter().zip(&self.counts).find(|(bound, _)| seconds <= **bound);
        bucket.map_or(&self.longer, |(_, count)| count).fetch_add(1, Relaxed);
        self.nanos.fetch_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Timing {
        let counted = BOUNDS.into_iter().zip(&self.counts).map(|(bound, count)| (bound, count.load(Relaxed)));
        let buckets = counted.chain([(f64::INFINITY, self.longer.load(Relaxed))]).collect();
        Timing { sum: Duration::from_nanos(self.nanos.load(Relaxed)), buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_in_the_first_bucket_that_holds_it() {
        let timer = Timer::default();
        for micros in [1, 10, 11, 2_000_000, 1_000_000_000] {
            timer.observe(Duration::from_micros(micros));
        }

        let Timing { sum, buckets } = timer.snapshot();

        let filled: Vec<_> = buckets.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(1e-5, 2), (1e-4, 1), (5.0, 1), (f64::INFINITY, 1)]);
        assert_eq!(sum, Duration::from_micros(1_002_000_022));
    }
}
