//! When a workload may be rolled: after changes have settled, in a maintenance window, and within the rate.
//!
//! The times are in the key-value state, because the host runs several instances of the plugin, and each call may reach another instance.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::{
    memory::Memory,
    settings::Settings,
    store::{self, Unavailable},
    window::until_open,
};

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// The key of the times of the last rolls in the key-value state. No workload has this key.
const ROLLS: &str = "rolls";

/// The value of [`Memory::changed_at`] for a workload that has changes. Returns `None` if there is no settle time.
pub(crate) fn found(memory: &Memory, settings: &Settings, now: Timestamp) -> Option<i64> {
    let now = now.as_millisecond();
    // If the clock was set back, the settle time begins anew, and only once.
    (!settings.settle().is_zero()).then(|| memory.changed_at.map_or(now, |first| first.min(now)))
}

/// Returns the time to wait before the roll of a workload that has changes, or `None` if it may be rolled now.
pub(crate) fn wait(
    memory: &Memory,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<Wait>, Unavailable> {
    let settle = SignedDuration::try_from(settings.settle()).unwrap_or(MINUTE);
    let passed = memory.changed_at.map_or(settle, |first| since(first, now));
    if passed < settle {
        return Ok(Some(Wait { time: rest(settle - passed), why: "changes settle" }));
    }
    if let Some(time) = until_open(&settings.windows, now) {
        return Ok(Some(Wait { time, why: "no maintenance window is open" }));
    }
    let most = usize::try_from(settings.rolls_per_minute).unwrap_or(usize::MAX);
    if most == 0 {
        return Ok(None);
    }
    let rolls = last_rolls(now)?;
    Ok(rolls.first().filter(|_| rolls.len() >= most).map(|oldest| {
        let time = rest(MINUTE - since(*oldest, now));
        Wait { time, why: "`rolls-per-minute` is reached" }
    }))
}

/// Records a roll.
pub(crate) fn rolled(settings: &Settings, now: Timestamp) -> Result<(), Unavailable> {
    if settings.rolls_per_minute == 0 {
        return Ok(());
    }
    let mut rolls = last_rolls(now)?;
    rolls.push(now.as_millisecond());
    store::set(ROLLS, &serde_json::to_vec(&rolls).unwrap_or_default())
}

/// The times of the rolls within the last minute in milliseconds since 1970, in the order of the rolls.
fn last_rolls(now: Timestamp) -> Result<Vec<i64>, Unavailable> {
    let kept = store::get(ROLLS)?.and_then(|kept| serde_json::from_slice::<Vec<i64>>(&kept).ok());
    let mut rolls = kept.unwrap_or_default();
    rolls.retain(|roll| (SignedDuration::ZERO..MINUTE).contains(&since(*roll, now)));
    Ok(rolls)
}

fn since(millis: i64, now: Timestamp) -> SignedDuration {
    SignedDuration::from_millis(now.as_millisecond().saturating_sub(millis))
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
    use serde_json::{Value, json};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn settings(config: Value) -> Settings {
        serde_json::from_value(config).unwrap()
    }

    /// The times to wait of a workload whose changes are found at the first of these times and not rolled.
    fn waits<const N: usize>(times: [&str; N]) -> [Option<u64>; N] {
        let (settings, mut memory) = (settings(json!({"settle": "2s"})), Memory::default());
        times.map(|time| {
            memory.changed_at = found(&memory, &settings, at(time));
            wait(&memory, &settings, at(time)).unwrap().map(|wait| wait.time.as_secs())
        })
    }

    #[test]
    fn changes_settle_before_a_roll_and_a_clock_that_is_set_back_delays_it_once() {
        let times =
            ["2026-05-01T12:00:00Z", "2026-05-01T12:00:01Z", "2026-04-01T12:00:00Z", "2026-05-01T12:00:02Z"];
        assert_eq!(waits(times), [Some(2), Some(1), Some(2), None]);
    }

    #[test]
    fn a_clock_that_stays_behind_delays_a_roll_by_the_settle_time_only() {
        let times =
            ["2026-05-01T12:00:00Z", "2026-04-01T12:00:00Z", "2026-04-01T12:00:01Z", "2026-04-01T12:00:02Z"];
        assert_eq!(waits(times), [Some(2), Some(2), Some(1), None]);
    }

    #[test]
    fn at_most_this_number_of_rolls_happens_in_a_minute() {
        store::native::reset();
        let settings = settings(json!({"settle": "0s", "rolls-per-minute": 2}));
        let wait = |time: &str| wait(&Memory::default(), &settings, at(time)).unwrap();
        for time in ["2026-05-01T12:00:00Z", "2026-05-01T12:00:10Z"] {
            assert_eq!(wait(time), None);
            rolled(&settings, at(time)).unwrap();
        }
        assert_eq!(wait("2026-05-01T12:00:20Z").unwrap().time, Duration::from_secs(40));
        assert_eq!(wait("2026-05-01T12:01:00Z"), None);
    }
}
