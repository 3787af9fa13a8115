//! Limits the log lines about the failures of one plugin.

use informer_types::TokenBucket;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Lines at once.
const BURST: f64 = 10.0;

/// Lines per second in the long run.
const LINES_PER_SECOND: f64 = 1.0;

/// Limits the log lines about the outcome of one plugin's calls. The plugin decides how often its calls fail and with which
/// message, but all plugins share the log. Counters and dead letters still cover every failure.
///
/// The first failures of notifications and keys have a budget of their own, so that they leave room for the lines that matter more:
/// about a quarantine, and about what was given up.
pub(crate) struct FailureLog {
    outcomes: Mutex<Budget>,
    first_failures: Mutex<Budget>,
}

struct Budget {
    lines: TokenBucket,
    /// Lines left out since the last one that was written.
    left_out: u64,
}

// === impl FailureLog ===

impl FailureLog {
    pub(crate) fn new() -> Self {
        let budget = || Mutex::new(Budget { lines: TokenBucket::new(LINES_PER_SECOND, BURST), left_out: 0 });
        Self { outcomes: budget(), first_failures: budget() }
    }

    /// If a line may be written now, returns the number of lines left out since the last one. Otherwise counts this line
    /// as left out and returns `None`.
    pub(crate) fn admits(&self) -> Option<u64> {
        self.outcomes.lock().take()
    }

    /// Like [`FailureLog::admits`], for a failed call that is made again. Returns `None` for all attempts but the first: the line about
    /// the first failure is enough until the last attempt.
    pub(crate) fn admits_attempt(&self, attempt: u32) -> Option<u64> {
        if attempt == 1 { self.first_failures.lock().take() } else { None }
    }
}

// === impl Budget ===

impl Budget {
    fn take(&mut self) -> Option<u64> {
        if self.lines.take(Instant::now().into_std()) {
            return Some(std::mem::take(&mut self.left_out));
        }
        self.left_out += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{iter::repeat_with, time::Duration};

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_failures_takes_ten_lines_and_one_per_second_and_the_next_line_counts_those_left_out()
    {
        let log = FailureLog::new();
        let flood = || repeat_with(|| log.admits()).take(1000).flatten().collect::<Vec<_>>();

        assert_eq!(flood(), [0; 10]);
        advance(Duration::from_secs(1)).await;
        assert_eq!(flood(), [990]);
        advance(Duration::from_secs(3600)).await;
        assert_eq!(flood(), [999, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn only_first_attempts_take_lines_and_they_leave_those_of_outcomes() {
        let log = FailureLog::new();

        assert_eq!((2..1000).find_map(|attempt| log.admits_attempt(attempt)), None);
        assert_eq!(repeat_with(|| log.admits_attempt(1)).take(1000).flatten().count(), 10);
        assert_eq!(log.admits(), Some(0));
    }
}
