//! Durations in annotations and in `[plugin.config]`: `500ms`, `30s`, `5m`, `1h30m`.

use std::{str::FromStr, time::Duration};

use jiff::SignedDuration;
use serde::Deserialize;

/// A length of time that is not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Span(pub(crate) Duration);

/// The text is not a length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration: write a number and one of ms, s, m and h, like `30s`, `5m` or `1h30m`")]
pub(crate) struct InvalidSpan(String);

// === impl Span ===

impl FromStr for Span {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Self, InvalidSpan> {
        let invalid = || InvalidSpan(text.to_owned());
        let parsed: SignedDuration = text.parse().map_err(|_| invalid())?;
        Duration::try_from(parsed).map(Self).map_err(|_| invalid())
    }
}

impl TryFrom<String> for Span {
    type Error = InvalidSpan;

    fn try_from(text: String) -> Result<Self, InvalidSpan> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_the_units_of_go() {
        for (text, millis) in [
            ("0s", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
        ] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(millis))), "{text}");
        }
        for text in ["", "5", "-5m", "soon", "5 fortnights"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
