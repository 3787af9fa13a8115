//! When a workload may be rolled: after changes have settled, in a maintenance window, and within the rate.
//!
//! The times live in memory. A new instance waits for the settle time again, which delays a roll and never loses it.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use jiff::{
    SignedDuration, Timestamp, ToSpan,
    civil::{Date, Time, Weekday},
    tz::TimeZone,
};
use serde::Deserialize;

use crate::{kind::Workload, settings::Settings};

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// A period of some days of the week, in UTC.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Window {
    /// The days on which the window begins. Empty means each day.
    #[serde(default)]
    days: Vec<Day>,
    from: Clock,
    /// The end. It is on the next day if it is not after `from`.
    to: Clock,
}

/// A day of the week, such as `sat`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Day(Weekday);

/// A time of day, such as `22:30`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Clock(Time);

/// Which workloads have changes that settle, and when the last rolls were.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    first_seen: BTreeMap<Workload, Timestamp>,
    rolls: VecDeque<Timestamp>,
}

// === impl Pace ===

impl Pace {
    /// The workload has changes. Returns the time to wait before its roll, or `None` if it may be rolled now.
    pub(crate) fn wait(&mut self, workload: &Workload, settings: &Settings, now: Timestamp) -> Option<Wait> {
        let first = *self.first_seen.entry(workload.clone()).or_insert(now);
        let settled = SignedDuration::try_from(settings.settle()).unwrap_or(MINUTE);
        // A clock that was set back must not delay a roll for longer than the settle time.
        let since = now.duration_since(first).max(SignedDuration::ZERO);
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

    /// The workload was rolled.
    pub(crate) fn rolled(&mut self, workload: &Workload, now: Timestamp) {
        self.calm(workload);
        self.rolls.push_back(now);
    }

    /// The workload has no changes.
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

/// The time until a window opens. Returns `None` if one is open, or if there are no windows.
fn until_open(windows: &[Window], now: Timestamp) -> Option<Duration> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let spans: Vec<_> = windows.iter().flat_map(|window| window.spans(today)).collect();
    if spans.iter().any(|(from, to)| *from <= now && now < *to) {
        return None;
    }
    let next = spans.iter().map(|(from, _)| *from).filter(|from| *from > now).min()?;
    Some(rest(next.duration_since(now)))
}

// === impl Window ===

impl Window {
    /// The periods of this window that begin from yesterday to a week from today.
    fn spans(&self, today: Date) -> Vec<(Timestamp, Timestamp)> {
        let span = |offset: i64| {
            let day = today.checked_add(offset.days()).ok()?;
            if !self.days.is_empty() && self.days.iter().all(|own| own.0 != day.weekday()) {
                return None;
            }
            let last = if self.to.0 > self.from.0 { day } else { day.tomorrow().ok()? };
            let at = |day: Date, time: Time| TimeZone::UTC.to_timestamp(day.to_datetime(time)).ok();
            Some((at(day, self.from.0)?, at(last, self.to.0)?))
        };
        (-1..=7).filter_map(span).collect()
    }
}

// === impl Day ===

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Ok(Self(match text.to_lowercase().as_str() {
            "mon" => Weekday::Monday,
            "tue" => Weekday::Tuesday,
            "wed" => Weekday::Wednesday,
            "thu" => Weekday::Thursday,
            "fri" => Weekday::Friday,
            "sat" => Weekday::Saturday,
            "sun" => Weekday::Sunday,
            _ => {
                return Err(format!("`{text}` is not a day: write mon, tue, wed, thu, fri, sat or sun"));
            }
        }))
    }
}

// === impl Clock ===

impl TryFrom<String> for Clock {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = text
            .split_once(':')
            .and_then(|(hour, minute)| Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok());
        parts.map(Self).ok_or_else(|| format!("`{text}` is not a time of day: write `22:30`, in UTC"))
    }
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

    #[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
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
    fn a_window_opens_on_its_days_and_may_end_on_the_next_one() {
        // 2026-05-01 is a Friday.
        let windows = settings(json!({"windows": [
            {"days": ["fri"], "from": "22:00", "to": "02:00"}, {"days": ["mon"], "from": "08:00", "to": "09:00"},
        ]}))
        .windows;
        for (time, hours) in [
            ("2026-05-01T21:00:00Z", Some(1)),
            ("2026-05-01T22:00:00Z", None),
            ("2026-05-02T01:59:59Z", None),
            ("2026-05-02T02:00:00Z", Some(54)),
            ("2026-05-04T08:30:00Z", None),
            ("2026-05-04T09:00:00Z", Some(109)),
        ] {
            let expected = hours.map(|hours| Duration::from_secs(hours * 3600));
            assert_eq!(until_open(&windows, at(time)), expected, "{time}");
        }
        assert_eq!(until_open(&[], at("2026-05-01T21:00:00Z")), None);
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
