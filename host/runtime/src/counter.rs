//! A counter that many threads add to.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// A number that only grows. A sum of durations is a number of nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

// === impl Counter ===

impl Counter {
    pub(crate) fn increment(&self) {
        self.add(1);
    }

    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Relaxed);
    }

    pub(crate) fn add_duration(&self, duration: Duration) {
        self.add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(crate) fn duration(&self) -> Duration {
        Duration::from_nanos(self.get())
    }
}
