//! What follows a failed call.

use std::{num::NonZeroU32, time::Duration};

/// Long enough that a burst of failures is no busy loop, short enough that a conflict is over unnoticed.
pub const MIN: Duration = Duration::from_millis(200);

/// A downstream that came back is noticed within a minute.
pub const MAX: Duration = Duration::from_secs(60);

/// The usual doubling, client-go's too (W-9).
pub const FACTOR: f64 = 2.0;

/// Objects that failed together do not come back together.
pub const JITTER: f64 = 0.2;

/// About two minutes with the waits above: a restart downstream is survived, a poisonous object is noticed.
pub const ATTEMPTS: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// As linkerd and finagle have it.
pub const BUDGET: f64 = 0.2;

/// What follows a failed call.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// The first wait. Never zero.
    pub min: Duration,
    /// The longest wait, before jitter: `min` or more, a day or less.
    pub max: Duration,
    /// Each wait is this many times the one before: 1 to 10.
    pub factor: f64,
    /// Each wait is longer by a random share of up to this: 0 to 1.
    pub jitter: f64,
    /// Calls in all, the first included; none: until it succeeds or is superseded.
    pub attempts: Option<NonZeroU32>,
    /// Retries for one first attempt, besides a hundred at once and ten a second; none: no bound.
    pub budget: Option<f64>,
    /// What becomes of an event whose attempts are spent.
    pub on_exhausted: OnExhausted,
}

/// What becomes of an event whose attempts are spent. Either way it is counted and logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExhausted {
    /// It is kept and shown.
    #[default]
    DeadLetter,
    /// It is gone.
    Drop,
    /// It is kept, and the plugin is put in quarantine.
    Quarantine,
}

// === impl Retry ===

impl Default for Retry {
    fn default() -> Self {
        Self {
            min: MIN,
            max: MAX,
            factor: FACTOR,
            jitter: JITTER,
            attempts: Some(ATTEMPTS),
            budget: Some(BUDGET),
            on_exhausted: OnExhausted::default(),
        }
    }
}
