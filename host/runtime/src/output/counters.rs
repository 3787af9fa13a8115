//! The limit on lines, and the counters, that all instances of a plugin share.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use informer_types::TokenBucket;
use parking_lot::Mutex;

use crate::counter::Counter;

/// The shortest time between two reports of left-out lines.
const REPORTED_EVERY: Duration = Duration::from_secs(1);

/// A token bucket of lines for all calls and instances of a plugin, with a burst of one second; and counters.
#[derive(Debug, Default)]
pub(crate) struct OutputCounters {
    lines: Mutex<Lines>,
    pub(crate) bytes_dropped: Counter,
    /// Bytes of log that guests passed to the host: everything that they printed, and the lines of `log.write` whose level is on.
    pub(crate) bytes: Counter,
}

#[derive(Debug, Default)]
struct Lines {
    bucket: Option<TokenBucket>,
    left_out: u64,
    /// Lines left out since the last report.
    unreported: u64,
    reported: Option<Instant>,
}

// === impl OutputCounters ===

impl OutputCounters {
    /// Takes the token of a line. Returns false if there is no token; the line is then left out and counted.
    pub(super) fn take(&self, per_second: NonZeroU32, now: Instant) -> bool {
        let rate = f64::from(per_second.get());
        let mut lines = self.lines.lock();
        let bucket = lines.bucket.get_or_insert_with(|| TokenBucket::new(rate, rate));
        bucket.set_rate(rate, rate, now);
        let taken = bucket.take(now);
        if !taken {
            lines.unreported += 1;
            lines.left_out += 1;
        }
        taken
    }

    /// The number of left-out lines to report now. Returns `None` if there are none, or the last report is too recent.
    pub(super) fn to_report(&self, now: Instant) -> Option<u64> {
        let mut lines = self.lines.lock();
        let recent = lines.reported.is_some_and(|at| now.saturating_duration_since(at) < REPORTED_EVERY);
        if lines.unreported == 0 || recent {
            return None;
        }
        lines.reported = Some(now);
        Some(std::mem::take(&mut lines.unreported))
    }

    /// Lines left out so far.
    pub(crate) fn lines_left_out(&self) -> u64 {
        self.lines.lock().left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: NonZeroU32 = NonZeroU32::new(4).unwrap();

    fn taken(counters: &OutputCounters, lines: usize, now: Instant) -> usize {
        (0..lines).filter(|_| counters.take(FOUR, now)).count()
    }

    #[test]
    fn the_lines_of_one_second_are_written_at_once_and_then_lines_at_the_rate() {
        let (counters, now) = (OutputCounters::default(), Instant::now());

        assert_eq!(taken(&counters, 10, now), 4);
        assert_eq!(taken(&counters, 10, now + Duration::from_millis(500)), 2);
        assert_eq!(
            taken(&counters, 10, now + Duration::from_secs(3600)),
            4,
            "at most the lines of one second are saved"
        );
        assert_eq!(counters.lines_left_out(), 6 + 8 + 6);
    }

    #[test]
    fn left_out_lines_are_reported_at_once_and_then_once_a_second() {
        let (counters, now) = (OutputCounters::default(), Instant::now());
        taken(&counters, 4, now);
        assert_eq!(counters.to_report(now), None, "no line is left out");

        taken(&counters, 1, now);
        assert_eq!(counters.to_report(now), Some(1));
        taken(&counters, 5, now);
        assert_eq!(counters.to_report(now + REPORTED_EVERY / 2), None);
        assert_eq!(counters.to_report(now + REPORTED_EVERY), Some(5));
        assert_eq!(counters.to_report(now + 3 * REPORTED_EVERY), None, "all were reported");
    }
}
