//! How often bugs of this crate have ended an informer.

use std::time::Duration;

use tokio::time::Instant;

/// An informer that runs for this long has recovered.
const CALM: Duration = Duration::from_secs(600);

/// An informer that a bug has ended this number of times in a row keeps ending: only a new process may help.
const TOO_OFTEN: u32 = 5;

/// The ends of one informer that bugs caused.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    total: u64,
    /// The latest ends with less than [`CALM`] in between.
    in_a_row: u32,
    last: Option<Instant>,
}

// === impl Endings ===

impl Endings {
    /// Counts an end. Returns its number in the row, which is 1 for the first.
    pub(crate) fn note(&mut self) -> u32 {
        if !self.is_recent() {
            self.in_a_row = 0;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.total += 1;
        self.last = Some(Instant::now());
        self.in_a_row
    }

    /// All ends so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns true if the informer ended five times in a row, the last time within ten minutes.
    pub(crate) fn keeps_ending(&self) -> bool {
        self.in_a_row >= TOO_OFTEN && self.is_recent()
    }

    fn is_recent(&self) -> bool {
        self.last.is_some_and(|last| last.elapsed() < CALM)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_informer_keeps_ending_from_the_fifth_time_in_a_row_until_it_has_run_for_ten_minutes() {
        let mut endings = Endings::default();
        for number in 1..=4 {
            assert_eq!(endings.note(), number);
            assert!(!endings.keeps_ending(), "{number}");
            advance(CALM - Duration::from_millis(1)).await;
        }
        assert_eq!(endings.note(), 5);
        assert!(endings.keeps_ending());

        advance(CALM - Duration::from_millis(1)).await;
        assert!(endings.keeps_ending());
        advance(Duration::from_millis(1)).await;
        assert!(!endings.keeps_ending());
        assert_eq!((endings.note(), endings.total()), (1, 6));
    }
}
