//! Times of the wall clock, in the syntax of cron.

use std::{fmt, str::FromStr, time::Duration};

use croner::{
    errors::CronError,
    parser::{CronParser, Seconds, Year},
};
use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};

/// Times in UTC: minute, hour, day of the month, month and day of the week, as a CronJob has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    pattern: Box<croner::Cron>,
}

/// The text is no cron expression, or its times never come.
#[derive(Debug, thiserror::Error)]
pub enum InvalidCron {
    /// The text has another syntax.
    #[error(
        "`{text}` is no cron expression: {source}; write minute, hour, day of the month, month and day of the week, as in \"0 3 * * *\""
    )]
    Syntax {
        /// The text.
        text: String,
        /// What is wrong with it.
        #[source]
        source: CronError,
    },
    /// There is no such day.
    #[error("`{0}` never comes; write times that exist, as in \"0 3 * * *\"")]
    Never(String),
}

// === impl Cron ===

impl Cron {
    /// Returns the first time after `now`, or `None` if no clock can show such a time. Both are durations since 1970.
    pub fn after(&self, now: Duration) -> Option<Duration> {
        let now = Timestamp::from_duration(SignedDuration::try_from(now).ok()?).ok()?;
        let now: DateTime = now.to_zoned(TimeZone::UTC).datetime();
        let next = self.pattern.find_next_occurrence(&now, false).ok()?;
        let next = next.to_zoned(TimeZone::UTC).ok()?.timestamp();
        Duration::try_from(next.as_duration()).ok()
    }
}

impl FromStr for Cron {
    type Err = InvalidCron;

    fn from_str(text: &str) -> Result<Self, InvalidCron> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let pattern = parser.parse(text);
        let pattern = pattern.map_err(|source| InvalidCron::Syntax { text: text.to_owned(), source })?;
        let cron = Self { text: text.to_owned(), pattern: Box::new(pattern) };
        if cron.after(Duration::ZERO).is_none() {
            return Err(InvalidCron::Never(text.to_owned()));
        }
        Ok(cron)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(cron: &str, now: &str) -> Option<String> {
        let now: Timestamp = now.parse().unwrap();
        let now = Duration::try_from(now.as_duration()).unwrap();
        let next = cron.parse::<Cron>().unwrap().after(now)?;
        Some(Timestamp::from_duration(SignedDuration::try_from(next).unwrap()).unwrap().to_string())
    }

    #[test]
    fn the_next_time_is_after_the_present_one_in_utc() {
        for (cron, now, next) in [
            ("0 3 * * *", "2026-11-24T02:59:59Z", "2026-11-24T03:00:00Z"),
            ("0 3 * * *", "2026-11-24T03:00:00Z", "2026-11-25T03:00:00Z"),
            ("*/15 * * * *", "2026-11-24T03:01:00Z", "2026-11-24T03:15:00Z"),
            ("0 0 29 2 *", "2026-11-24T03:01:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 * * MON-FRI", "2026-11-27T03:01:00Z", "2026-11-30T00:00:00Z"),
            ("@daily", "2026-11-24T03:01:00Z", "2026-11-25T00:00:00Z"),
        ] {
            assert_eq!(after(cron, now).as_deref(), Some(next), "{cron}");
        }
    }

    #[test]
    fn an_invalid_cron_expression_is_refused_with_a_remedy() {
        for text in ["", "3", "* * * * * *", "0 24 * * *", "0 3 * * XYZ", "every day"] {
            let error = text.parse::<Cron>().unwrap_err().to_string();

            assert!(error.ends_with("as in \"0 3 * * *\""), "{error}");
        }
        let never = "0 0 30 2 *".parse::<Cron>().unwrap_err().to_string();
        assert_eq!(never, "`0 0 30 2 *` never comes; write times that exist, as in \"0 3 * * *\"");
    }
}
