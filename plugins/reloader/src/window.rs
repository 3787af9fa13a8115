//! Maintenance windows: the times at which workloads may be rolled.

use std::time::Duration;

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, Time, Weekday},
    tz::TimeZone,
};
use serde::Deserialize;

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

/// The time until a window opens. Returns `None` if one is open, or if there are no windows.
pub(crate) fn until_open(windows: &[Window], now: Timestamp) -> Option<Duration> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let spans: Vec<_> = windows.iter().flat_map(|window| window.spans(today)).collect();
    if spans.iter().any(|(from, to)| *from <= now && now < *to) {
        return None;
    }
    let next = spans.iter().map(|(from, _)| *from).filter(|from| *from > now).min()?;
    Duration::try_from(next.duration_since(now)).ok()
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
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_window_opens_on_its_days_and_may_end_on_the_next_one() {
        // 2026-05-01 is a Friday.
        let windows: Vec<Window> = serde_json::from_value(json!([
            {"days": ["fri"], "from": "22:00", "to": "02:00"}, {"days": ["mon"], "from": "08:00", "to": "09:00"},
        ]))
        .unwrap();
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
}
