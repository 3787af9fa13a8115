//! Failures of a handler.

use std::time::Duration;

use crate::bindings::informer::plugin::types;
use crate::error::with_sources;

/// The result of a call of a [`Handler`](crate::Handler).
pub type Result<T = ()> = std::result::Result<T, Failure>;

/// Why a handler could not handle a notification, and what the host should do with the notification.
///
/// `?` turns every error type into [`Failure::Retry`]. This is safe: the number of attempts is bounded, and a newer state of
/// the object replaces an older one. Use [`Failure::permanent`] if another attempt cannot help.
///
/// ```
/// use informer_sdk::{Event, Failure, Result};
///
/// fn port(service: &Event) -> Result<u16> {
///     // A host error is retried.
///     let text: Option<String> = service.get("/metadata/annotations/example.com~1port")?;
///     // A bad annotation stays bad until the object changes.
///     text.unwrap_or_default().parse().map_err(|error| Failure::permanent(format!("bad port: {error}")))
/// }
/// ```
///
/// `Failure` is not a [`std::error::Error`] itself: otherwise `?` could not convert all other errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Deliver the notification again, after the plugin's backoff.
    Retry(String),
    /// Make the call again, after this delay in whole milliseconds. For a notification the host waits at least `min` of
    /// `[plugin.retry]` and at most one day.
    RetryAfter(String, Duration),
    /// Another attempt cannot help: keep the notification as a dead letter and go on.
    Permanent(String),
}

// === impl Failure ===

impl Failure {
    /// Asks for another delivery after the plugin's backoff.
    pub fn retry(why: impl Into<String>) -> Self {
        Self::Retry(why.into())
    }

    /// Asks for another delivery after `delay`.
    pub fn retry_after(why: impl Into<String>, delay: Duration) -> Self {
        Self::RetryAfter(why.into(), delay)
    }

    /// Turns the notification into a dead letter.
    pub fn permanent(why: impl Into<String>) -> Self {
        Self::Permanent(why.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Retry(with_sources(&error))
    }
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Retry(why) => Self::Retry(why),
            Failure::RetryAfter(why, delay) => Self::RetryAfter((why, whole_millis(delay))),
            Failure::Permanent(why) => Self::Permanent(why),
        }
    }
}

/// The delay in milliseconds, rounded up, so that a short delay does not become zero.
pub(crate) fn whole_millis(delay: Duration) -> u32 {
    u32::try_from(delay.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, ErrorCode};

    fn wire(failure: Failure) -> types::Failure {
        failure.into()
    }

    #[test]
    fn each_constructor_makes_its_own_failure() {
        assert!(matches!(wire(Failure::retry("busy")), types::Failure::Retry(why) if why == "busy"));
        assert!(matches!(wire(Failure::permanent("bad")), types::Failure::Permanent(why) if why == "bad"));
        let later = wire(Failure::retry_after("busy", Duration::from_secs(2)));
        assert!(matches!(later, types::Failure::RetryAfter((why, 2000)) if why == "busy"));
    }

    #[test]
    fn a_delay_is_rounded_up_and_capped() {
        assert_eq!(whole_millis(Duration::ZERO), 0);
        assert_eq!(whole_millis(Duration::from_nanos(1)), 1);
        assert_eq!(whole_millis(Duration::from_micros(1500)), 2);
        assert_eq!(whole_millis(Duration::MAX), u32::MAX);
    }

    #[test]
    fn the_question_mark_operator_asks_for_a_retry() {
        fn handle() -> Result {
            Err(Error::Host { code: ErrorCode::TooLarge, message: "5 MiB".to_owned() })?;
            Ok(())
        }
        assert!(matches!(handle(), Err(Failure::Retry(why)) if why.ends_with("5 MiB")));

        fn parse() -> Result<u8> {
            Ok("300".parse::<u8>()?)
        }
        assert!(matches!(parse(), Err(Failure::Retry(_))));
    }
}
