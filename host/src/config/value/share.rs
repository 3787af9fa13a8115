//! Shares of processor time.

use std::{cmp::Ordering, fmt, time::Duration};

use serde_json::{Value, json};

use super::{duration::plain, scalar::FromText};
use crate::config::problem::Fault;

const PER_SECOND: &str = "/s";

/// Processor time for each second, written `"200ms/s"`: a fifth of one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share(pub(crate) Duration);

// === impl Share ===

impl FromText for Share {
    const KIND: &'static str = "a share of the processors";

    fn example() -> String {
        "\"200ms/s\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let time = text.strip_suffix(PER_SECOND).map(Duration::parse);
        match time {
            Some(Ok(time)) => Ok(Self(time)),
            _ => Err(Fault::new(
                format!("`{text}` is not a share of the processors"),
                "write processor time a second, like \"200ms/s\", a fifth of one processor, or \"2s/s\", two of them",
            )),
        }
    }

    fn shown(&self) -> String {
        format!("\"{self}\"")
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        self.partial_cmp(other)
    }

    fn schema() -> Value {
        json!({"type": "string", "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?/s$"})
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{PER_SECOND}", plain(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_processor_time_per_second() {
        for (text, millis) in [("200ms/s", 200), ("2s/s", 2_000), ("1s500ms/s", 1_500)] {
            assert_eq!(Share::parse(text), Ok(Share(Duration::from_millis(millis))), "{text}");
            assert_eq!(Share(Duration::from_millis(millis)).to_string(), text);
        }
    }

    #[test]
    fn any_other_text_is_refused_with_examples() {
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
}
