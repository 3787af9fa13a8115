//! When a workload may be rolled: after changes have settled, in a maintenance window, and within the rate.
//!
//! The times live in memory. A new instance waits for the settle time again, which delays a roll and never loses it.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};

use crate::{kind::Workload, settings::Settings, window::until_open};

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// Which workloads have changes that settle, and when the last rolls were.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    first_seen: BTreeMap<Workload, Timestamp>,
    rolls: VecDeque<Timestamp>,
}

// === impl Pace ===

impl Pace {
    /// Returns the time to wait before the roll of a workload that has changes, or `None` if it may be rolled now.
    pub(crate) fn wait(&mut self, workload: &Workload, settings: &Settings, now: Timestamp) -> Option<Wait> {
        let first = self.first_seen.entry(workload.clone()).or_insert(now);
        // If the clock was set back, the settle time begins anew, and only once.
        *first = now.min(*first);
        let since = now.duration_since(*first);
        let settled = SignedDuration::try_from(settings.settle()).unwrap_or(MINUTE);
        if since < settled {
            return Some(Wait { time: rest(settled - since), why: "changes settle" });
        }
        if let Some(time) = until_open(&settings.windows, now) {
            return Some(Wait { time, why: "no maintenance window is open" });
        }
        self.rolls.retain(|roll| (SignedDuration::ZERO..MINUTE).contains(&now.duration_since(*roll)));
        let most = usize::try_from(settings.rolls_per_minute).unwrap_or(usize::MAX);
        match self.rolls.front() {
            Some(oldest) if most > 0 && self.rolls.len() >= most => {
                let time = rest(MINUTE - now.duration_since(*oldest));
                Some(Wait { time, why: "`rolls-per-minute` is reached" })
            }
            _ => None,
        }
    }

    /// Records that the workload was rolled.
    pub(crate) fn rolled(&mut self, workload: &Workload, now: Timestamp) {
        self.calm(workload);
        self.rolls.push_back(now);
    }

    /// Records that the workload has no changes.
    pub(crate) fn calm(&mut self, workload: &Workload) {
        self.first_seen.remove(workload);
    }
}

/// A time to wait, and its reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) time: Duration,
    pub(crate) why: &'static str,
}

fn rest(time: SignedDuration) -> Duration {
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use informer_sdk::ObjectKey;
    use serde_json::{Value, json};

    use super::*;
    use crate::kind::WorkloadKind;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn settings(config: Value) -> Settings {
        serde_json::from_value(config).unwrap()
    }

    fn workload(name: &str) -> Workload {
        Workload::new(WorkloadKind::Deployment, &ObjectKey::new("shop", name))
    }

    #[test]
    fn changes_settle_before_a_roll_and_a_clock_that_is_set_back_delays_it_once() {
        let (settings, mut pace) = (settings(json!({"settle": "2s"})), Pace::default());
        let mut wait = |time: &str| pace.wait(&workload("web"), &settings, at(time)).map(|wait| wait.time);
        assert_eq!(wait("2026-05-01T12:00:00Z"), Some(Duration::from_secs(2)));
        assert_eq!(wait("2026-05-01T12:00:01Z"), Some(Duration::from_secs(1)));
        assert_eq!(wait("2026-04-01T12:00:00Z"), Some(Duration::from_secs(2)));
        assert_eq!(wait("2026-05-01T12:00:02Z"), None);
    }

    #[test]
    fn a_clock_that_stays_behind_delays_a_roll_by_the_settle_time_only() {
        let (settings, mut pace) = (settings(json!({"settle": "2s"})), Pace::default());
        let mut wait = |time: &str| pace.wait(&workload("web"), &settings, at(time)).map(|wait| wait.time);
        assert_eq!(wait("2026-05-01T12:00:00Z"), Some(Duration::from_secs(2)));
        assert_eq!(wait("2026-04-01T12:00:00Z"), Some(Duration::from_secs(2)));
        assert_eq!(wait("2026-04-01T12:00:01Z"), Some(Duration::from_secs(1)));
        assert_eq!(wait("2026-04-01T12:00:02Z"), None);
    }

    #[test]
    fn at_most_this_number_of_rolls_happens_in_a_minute() {
        let settings = settings(json!({"settle": "0s", "rolls-per-minute": 2}));
        let mut pace = Pace::default();
        for time in ["2026-05-01T12:00:00Z", "2026-05-01T12:00:10Z"] {
            assert_eq!(pace.wait(&workload("a"), &settings, at(time)), None);
            pace.rolled(&workload("a"), at(time));
        }
        let wait = pace.wait(&workload("b"), &settings, at("2026-05-01T12:00:20Z")).unwrap();
        assert_eq!(wait.time, Duration::from_secs(40));
        assert_eq!(pace.wait(&workload("b"), &settings, at("2026-05-01T12:01:00Z")), None);
    }
}
