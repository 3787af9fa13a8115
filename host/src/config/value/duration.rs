//! Durations, and shares of processor time.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::scalar::Scalar;
use crate::config::problem::Fault;

/// The longest duration. A deadline computed from it does not overflow.
const MOST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

const PER_SECOND: &str = "/s";

/// Processor time for each second, written `"200ms/s"`: a fifth of one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct Share(pub(in crate::config) Duration);

// === impl Duration ===

impl Scalar for Duration {
    const KIND: &'static str = "a duration";

    fn example() -> String {
        "\"30s\"".to_owned()
    }

    /// Numbers with units, the larger unit first: `1h30m`, `500ms`. Units are `h`, `m`, `s` and `ms`.
    fn parse(text: &str) -> Result<Self, Fault> {
        let invalid = || {
            let remedy = "write numbers with the units h, m, s or ms, like \"30s\", \"1h30m\" or \"500ms\"";
            Fault::new(format!("`{text}` is not a duration"), remedy)
        };
        // jiff also reads ISO 8601 and whole words. The file has one notation.
        if !is_plain(text) {
            return Err(invalid());
        }
        let parsed: SignedDuration = text.parse().map_err(|_| invalid())?;
        let duration = Duration::try_from(parsed).map_err(|_| invalid())?;
        if duration > MOST {
            return Err(Fault::new(format!("`{text}` is longer than a year"), "write at most \"8760h\""));
        }
        Ok(duration)
    }

    fn plain(&self) -> String {
        let (seconds, millis) = (self.as_secs(), self.subsec_millis());
        let parts =
            [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s"), (millis.into(), "ms")];
        let text: String = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, unit)| format!("{count}{unit}"))
            .collect();
        if text.is_empty() { "0s".to_owned() } else { text }
    }

    fn schema(_: Option<&(Self, Self)>) -> Value {
        json!({"type": "string", "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$", "minLength": 1})
    }
}

// === impl Share ===

impl Scalar for Share {
    const KIND: &'static str = "a share of the processors";

    fn example() -> String {
        "\"200ms/s\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.strip_suffix(PER_SECOND).and_then(|time| Duration::parse(time).ok()).map(Self).ok_or_else(|| {
            let remedy = "write processor time a second, like \"200ms/s\", a fifth of one processor, or \"2s/s\", two of them";
            Fault::new(format!("`{text}` is not a share of the processors"), remedy)
        })
    }

    fn plain(&self) -> String {
        self.0.plain() + PER_SECOND
    }

    fn schema(_: Option<&(Self, Self)>) -> Value {
        let pattern = "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?/s$";
        json!({"type": "string", "pattern": pattern, "minLength": PER_SECOND.len() + 1})
    }
}

/// Returns true if the text is numbers, each followed by one of the four units.
fn is_plain(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let unit = number.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
        let name = number.strip_suffix(unit).unwrap_or_default();
        if number.len() == rest.len() || !["h", "m", "s", "ms"].contains(&name) {
            return false;
        }
        rest = unit;
    }
    !text.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_add_up() {
        for (text, millis) in [
            ("30s", 30_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("0s", 0),
            ("1m1ms", 60_001),
        ] {
            assert_eq!(Duration::parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn any_other_text_is_refused_with_examples() {
        for text in [
            "",
            "30",
            "s",
            "-5s",
            "1.5h",
            "1 h",
            "30 seconds",
            "PT30S",
            "1d",
            "30s ago",
            "10s5m",
            "5s5s",
            "1h,30m",
            "٣s",
        ] {
            let fault = Duration::parse(text).unwrap_err();

            assert_eq!(
                fault,
                Fault::new(
                    format!("`{text}` is not a duration"),
                    "write numbers with the units h, m, s or ms, like \"30s\", \"1h30m\" or \"500ms\""
                )
            );
        }
    }

    #[test]
    fn more_than_a_year_is_refused() {
        assert!(Duration::parse("8760h").is_ok());
        assert!(Duration::parse("8761h").is_err());
        assert!(Duration::parse("99999999999999999999h").is_err());
        assert!(Duration::parse("9223372036854775807s").is_err());
    }

    #[test]
    fn a_share_is_processor_time_per_second() {
        for (text, millis) in [("200ms/s", 200), ("2s/s", 2_000), ("1s500ms/s", 1_500)] {
            assert_eq!(Share::parse(text), Ok(Share(Duration::from_millis(millis))), "{text}");
            assert_eq!(Share(Duration::from_millis(millis)).plain(), text);
        }
    }

    #[test]
    fn any_other_text_is_no_share() {
        for text in
            ["", "200ms", "200ms/m", "20%", "0.2", "200 ms/s", "200ms / s", "/s", "-1s/s", "9999999h/s"]
        {
            let fault = Share::parse(text).unwrap_err();

            assert_eq!(
                fault,
                Fault::new(
                    format!("`{text}` is not a share of the processors"),
                    "write processor time a second, like \"200ms/s\", a fifth of one processor, or \"2s/s\", two of them"
                )
            );
        }
    }

    proptest! {
        #[test]
        fn a_shown_duration_reads_back(millis in 0..=31_536_000_000_u64) {
            let duration = Duration::from_millis(millis);

            prop_assert_eq!(Duration::parse(&duration.plain()), Ok(duration));
        }
    }
}
