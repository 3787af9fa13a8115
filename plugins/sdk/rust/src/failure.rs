//! What a handler answers when it could not handle a notification.

use std::time::Duration;

use crate::bindings::handler::exports::informer::plugin::handler;
use crate::error::with_sources;

/// What a call of a [`Handler`](crate::Handler) answers.
pub type Result<T = ()> = std::result::Result<T, Failure>;

/// What the host should do with a notification that could not be handled.
///
/// Every error type becomes [`Failure::Retry`] through `?`: the safe choice, for attempts are bounded and newer
/// state of the object replaces the old. Write `.map_err(Failure::permanent)?` where trying again cannot help.
/// The reasons are text; an [`Error`](crate::Error) becomes text with its causes.
/// (For the sake of `?`, `Failure` itself is not a [`std::error::Error`].)
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Deliver it again, after the plugin's backoff.
    Retry(String),
    /// Deliver it again, after this long; whole milliseconds, at most about 49 days.
    RetryAfter(String, Duration),
    /// Trying again cannot help: keep it as a dead letter and go on.
    Permanent(String),
}

// === impl Failure ===

impl Failure {
    /// Deliver it again, after the plugin's backoff.
    pub fn retry(why: impl Into<String>) -> Self {
        Self::Retry(why.into())
    }

    /// Deliver it again, after `delay`.
    pub fn retry_after(why: impl Into<String>, delay: Duration) -> Self {
        Self::RetryAfter(why.into(), delay)
    }

    /// Trying again cannot help.
    pub fn permanent(why: impl Into<String>) -> Self {
        Self::Permanent(why.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Retry(with_sources(&error))
    }
}

impl From<Failure> for handler::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Retry(why) => Self::Retry(why),
            Failure::RetryAfter(why, delay) => Self::RetryAfter((why, whole_millis(delay))),
            Failure::Permanent(why) => Self::Permanent(why),
        }
    }
}

/// Rounded up, so that a short delay does not become none.
pub(crate) fn whole_millis(delay: Duration) -> u32 {
    u32::try_from(delay.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, ErrorCode};

    fn wire(failure: Failure) -> handler::Failure {
        failure.into()
    }

    #[test]
    fn each_constructor_is_its_own_answer() {
        assert!(matches!(wire(Failure::retry("busy")), handler::Failure::Retry(why) if why == "busy"));
        assert!(matches!(wire(Failure::permanent("bad")), handler::Failure::Permanent(why) if why == "bad"));
        let later = wire(Failure::retry_after("busy", Duration::from_secs(2)));
        assert!(matches!(later, handler::Failure::RetryAfter((why, 2000)) if why == "busy"));
    }

    #[test]
    fn a_delay_is_rounded_up_and_capped() {
        assert_eq!(whole_millis(Duration::ZERO), 0);
        assert_eq!(whole_millis(Duration::from_nanos(1)), 1);
        assert_eq!(whole_millis(Duration::from_micros(1500)), 2);
        assert_eq!(whole_millis(Duration::MAX), u32::MAX);
    }

    #[test]
    fn the_question_mark_retries() {
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
