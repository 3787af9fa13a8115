//! The time in which a watch is reopened after internal errors of the server.

use std::time::Duration;

use tokio::time::Instant;

/// After this time without an internal error, the next one starts a new window.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The window. A window of length zero is always closed.
pub(crate) struct InternalErrorWindow {
    length: Duration,
    first: Option<Instant>,
    last: Option<Instant>,
}

// === impl InternalErrorWindow ===

impl InternalErrorWindow {
    pub(crate) fn new(length: Duration) -> Self {
        Self { length, first: None, last: None }
    }

    /// Records an internal error. Returns true if the watch may be reopened at once.
    pub(crate) fn may_retry(&mut self) -> bool {
        if self.length.is_zero() {
            return false;
        }
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last >= FORGET_AFTER) {
            self.first = None;
        }
        self.last = Some(now);
        now - *self.first.get_or_insert(now) <= self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scenarios 8 and 9: internal errors are retried within the window, and a quiet minute opens a new one.
    #[tokio::test(start_paused = true)]
    async fn internal_errors_are_retried_within_the_window_and_a_quiet_minute_opens_a_new_one() {
        let mut window = InternalErrorWindow::new(Duration::from_secs(30));
        let mut retries = 0;
        while window.may_retry() {
            retries += 1;
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(retries, 31);

        tokio::time::advance(FORGET_AFTER).await;
        assert!(window.may_retry());
    }

    /// Scenario 9: a window of length zero never allows a retry.
    #[tokio::test(start_paused = true)]
    async fn without_a_window_no_internal_error_is_retried() {
        assert!(!InternalErrorWindow::new(Duration::ZERO).may_retry());
    }
}
