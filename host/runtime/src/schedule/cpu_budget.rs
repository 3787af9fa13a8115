//! The processor time that a plugin may use.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A bucket of processor time. It fills by the share each second and holds at most one share.
///
/// A slice is charged when it ends, with the blocking work whose result it received. So the level may become negative, by one slice and
/// its blocking work for each instance of the plugin. A slice lasts at most a tick, unless it has work of the host that cannot be
/// interrupted. The plugin waits until the level is positive again.
pub(super) struct CpuBudget {
    /// Processor time per second.
    share: Duration,
    bucket: Mutex<Bucket>,
}

struct Bucket {
    /// Seconds that may be used. If negative, the seconds used in advance.
    level: f64,
    filled: Instant,
}

// === impl CpuBudget ===

impl CpuBudget {
    pub(super) fn new(share: Duration, now: Instant) -> Self {
        Self { share, bucket: Mutex::new(Bucket { level: share.as_secs_f64(), filled: now }) }
    }

    pub(super) fn share(&self) -> Duration {
        self.share
    }

    /// A budget with another share, with the level of this one.
    pub(super) fn succeeded_by(&self, share: Duration, now: Instant) -> Self {
        self.wait(now);
        let level = self.bucket.lock().level.min(share.as_secs_f64());
        Self { share, bucket: Mutex::new(Bucket { level, filled: now }) }
    }

    /// Charges processor time.
    pub(super) fn charge(&self, used: Duration) {
        self.bucket.lock().level -= used.as_secs_f64();
    }

    /// How long the plugin has to wait. Returns `None` if it may run.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let share = self.share.as_secs_f64();
        let mut bucket = self.bucket.lock();
        let passed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.filled = bucket.filled.max(now);
        bucket.level = (bucket.level + passed * share).min(share);
        (bucket.level <= 0.0).then(|| Duration::from_secs_f64(-bucket.level / share).max(Self::SHORTEST_WAIT))
    }

    /// The resolution of a timer.
    const SHORTEST_WAIT: Duration = Duration::from_millis(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_plugin_may_use_the_share_of_a_second_at_once_and_then_waits_until_the_level_is_positive() {
        let start = Instant::now();
        let budget = CpuBudget::new(200 * MS, start);
        assert_eq!(budget.wait(start), None);

        budget.charge(201 * MS);

        // One millisecond is owed: at a fifth of a processor it takes five.
        let wait = budget.wait(start).unwrap();
        assert!((4 * MS..=6 * MS).contains(&wait), "{wait:?}");
        assert_eq!(budget.wait(start + 6 * MS), None);
    }

    #[test]
    fn over_ten_seconds_a_plugin_runs_for_its_share_and_the_one_saved_before() {
        let (start, mut now, mut used) = (Instant::now(), Instant::now(), Duration::ZERO);
        let budget = CpuBudget::new(100 * MS, start);

        while now < start + Duration::from_secs(10) {
            match budget.wait(now) {
                Some(wait) => now += wait,
                None => {
                    budget.charge(MS);
                    (now, used) = (now + MS, used + MS);
                }
            }
        }

        assert!((1_095 * MS..=1_105 * MS).contains(&used), "{used:?}");
    }

    #[test]
    fn at_most_one_share_is_saved() {
        let start = Instant::now();
        let budget = CpuBudget::new(100 * MS, start);

        let later = start + Duration::from_secs(3600);
        assert_eq!(budget.wait(later), None);
        budget.charge(101 * MS);

        assert!(budget.wait(later).is_some());
    }

    #[test]
    fn another_share_keeps_the_level() {
        let start = Instant::now();
        let budget = CpuBudget::new(200 * MS, start);
        budget.charge(150 * MS);

        let more = budget.succeeded_by(1000 * MS, start);
        more.charge(60 * MS);
        let wait = more.wait(start).unwrap();
        assert!(
            (9 * MS..=11 * MS).contains(&wait),
            "ten milliseconds are owed, and a second gives one: {wait:?}"
        );

        let less = more.succeeded_by(10 * MS, start);
        let wait = less.wait(start).unwrap();
        assert!((990 * MS..=1010 * MS).contains(&wait), "they are still owed: {wait:?}");
    }

    #[test]
    fn a_clock_that_goes_back_does_not_change_the_level() {
        let start = Instant::now() + Duration::from_secs(1);
        let budget = CpuBudget::new(100 * MS, start);
        budget.charge(110 * MS);

        let wait = budget.wait(start - 500 * MS).unwrap();

        assert!((99 * MS..=101 * MS).contains(&wait), "{wait:?}");
        assert_eq!(budget.wait(start + 101 * MS), None);
    }
}
