//! How many lines of the log a plugin may fill by failing.

use parking_lot::Mutex;
use tokio::time::Instant;

/// So many at once.
const BURST: f64 = 10.0;

/// So many more each second.
const A_SECOND: f64 = 1.0;

/// Limits the lines about what became of one plugin's calls. How often these fail, and with which words, the plugin decides, and
/// the log is everybody's; counters and dead letters have all that is left out.
pub(crate) struct FailureLog(Mutex<Budget>);

struct Budget {
    lines: f64,
    filled: Instant,
    left_out: u64,
}

// === impl FailureLog ===

impl FailureLog {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Budget { lines: BURST, filled: Instant::now(), left_out: 0 }))
    }

    /// Whether there may be one more: how many were left out since the last one. None: this one is.
    pub(crate) fn admits(&self) -> Option<u64> {
        let (mut budget, now) = (self.0.lock(), Instant::now());
        let filled = budget.lines + now.duration_since(budget.filled).as_secs_f64() * A_SECOND;
        (budget.lines, budget.filled) = (filled.min(BURST), now);
        if budget.lines < 1.0 {
            budget.left_out += 1;
            return None;
        }
        budget.lines -= 1.0;
        Some(std::mem::take(&mut budget.left_out))
    }
}

#[cfg(test)]
mod tests {
    use std::{iter::repeat_with, time::Duration};

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_failures_is_ten_lines_and_one_each_second_and_none_goes_uncounted() {
        let log = FailureLog::new();
        let flood = || repeat_with(|| log.admits()).take(1000).flatten().collect::<Vec<_>>();

        assert_eq!(flood(), [0; 10]);
        advance(Duration::from_secs(1)).await;
        assert_eq!(flood(), [990]);
        advance(Duration::from_secs(3600)).await;
        assert_eq!(flood(), [999, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
