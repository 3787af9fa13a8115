//! The values of the annotations `janitor/ttl` and `janitor/expires`.

use std::{fmt, str::FromStr, time::Duration};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde::Deserialize;

/// The longest time to live. Its sum with any creation time is a valid time.
const MOST: u64 = 100 * 365 * 24 * 60 * 60;

/// A time to live: `forever` in upper or lower case, or a number and one of the units `s`, `m`, `h`, `d` and `w`. The number zero
/// means forever, as in kube-janitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Ttl {
    Forever,
    /// The time is longer than zero.
    After(Duration),
}

/// The text is not a time to live.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a time to live: write `forever`, or a number and one of s, m, h, d and w, like `7d`; at most a hundred years"
)]
pub(crate) struct InvalidTtl(String);

/// The text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time: write `2030-01-31T23:59:00Z`, `2030-01-31T23:59` or `2030-01-31`, in UTC")]
pub(crate) struct InvalidTime(String);

/// Reads the value of `janitor/expires`. A time without a zone is in UTC, and a day begins at midnight. A time with the name of a zone
/// and without an offset is invalid: the plugin has no list of zones, and the same time in UTC may be hours too early.
pub(crate) fn time(text: &str) -> Result<Timestamp, InvalidTime> {
    let invalid = || InvalidTime(text.to_owned());
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    // The parser of local times ignores the name of a zone, which is in brackets.
    if text.contains('[') {
        return Err(invalid());
    }
    let local: DateTime = text.parse().map_err(|_| invalid())?;
    TimeZone::UTC.to_timestamp(local).map_err(|_| invalid())
}

// === impl Ttl ===

impl FromStr for Ttl {
    type Err = InvalidTtl;

    fn from_str(text: &str) -> Result<Self, InvalidTtl> {
        let invalid = || InvalidTtl(text.to_owned());
        if text.eq_ignore_ascii_case("forever") {
            return Ok(Self::Forever);
        }
        let (number, unit) =
            text.split_at(text.find(|character: char| !character.is_ascii_digit()).ok_or_else(invalid)?);
        let each: u64 = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            "w" => 7 * 24 * 60 * 60,
            _ => return Err(invalid()),
        };
        let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(each));
        match seconds.filter(|seconds| *seconds <= MOST).ok_or_else(invalid)? {
            0 => Ok(Self::Forever),
            seconds => Ok(Self::After(Duration::from_secs(seconds))),
        }
    }
}

impl TryFrom<String> for Ttl {
    type Error = InvalidTtl;

    fn try_from(text: String) -> Result<Self, InvalidTtl> {
        text.parse()
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forever => f.write_str("forever"),
            Self::After(time) => write!(f, "{}s", time.as_secs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_a_number_with_one_unit_or_forever() {
        for (text, seconds) in
            [("1s", 1), ("120s", 120), ("5m", 300), ("8h", 28_800), ("7d", 604_800), ("2w", 1_209_600)]
        {
            assert_eq!(text.parse(), Ok(Ttl::After(Duration::from_secs(seconds))), "{text}");
        }
        for text in ["forever", "Forever", "FOREVER", "0s", "0d", "00w"] {
            assert_eq!(text.parse(), Ok(Ttl::Forever), "{text}");
        }
        for text in
            ["", "7", "d", "-1d", "1.5h", "1h30m", "7 d", "7D", "for ever", "99999999999999999999s", "5300w"]
        {
            assert!(text.parse::<Ttl>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_has_three_forms_and_is_in_utc() {
        for (text, expected) in [
            ("2030-01-31T23:59:30Z", "2030-01-31T23:59:30Z"),
            ("2030-01-31T23:59", "2030-01-31T23:59:00Z"),
            ("2030-01-31", "2030-01-31T00:00:00Z"),
            ("2030-01-31T23:59:30+02:00", "2030-01-31T21:59:30Z"),
        ] {
            assert_eq!(time(text).unwrap().to_string(), expected, "{text}");
        }
        for text in ["", "tomorrow", "2030-02-31", "2030-1-31", "31.01.2030", "2030-01-31T25:00"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_with_the_name_of_a_zone_is_not_taken_for_a_time_in_utc() {
        for text in [
            "2030-01-31T23:59[America/New_York]",
            "2030-01-31T23:59:30[America/New_York]",
            "2030-01-31[America/New_York]",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
        let both = time("2030-01-31T23:59:30-05:00[America/New_York]").unwrap();
        assert_eq!(both.to_string(), "2030-02-01T04:59:30Z");
    }
}
