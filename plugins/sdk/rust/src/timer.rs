//! Timers that fire once, by name. The host calls `on_timer` of the [`TimerHandler`](crate::TimerHandler).
//!
//! A timer survives reloads of the plugin, but not a restart of the host: set it again when the first list delivers its object.
//!
//! ```
//! use std::time::Duration;
//!
//! use informer_sdk::{Event, Result, timer};
//!
//! # fn example(object: &Event) -> Result {
//! timer::after(format!("expire {}", object.key()), Duration::from_secs(3600))?;
//! # Ok(())
//! # }
//! ```

use std::{fmt::Display, time::Duration};

use crate::{Error, failure::whole_millis, host};

/// Sets a timer, rounded up to whole milliseconds, at most about 49 days. If there is a timer of this name, the new time replaces
/// the old one.
///
/// # Errors
/// Returns [`Error::Host`]: `limit-exceeded` if the plugin has 1,000 timers, `invalid` if the name is empty, too long or that of a
/// `[[plugin.timer]]`.
pub fn after(name: impl Display, delay: Duration) -> Result<(), Error> {
    Ok(host::timer::after(&name.to_string(), whole_millis(delay))?)
}

/// Removes a timer. Does nothing if there is none.
pub fn cancel(name: impl Display) {
    host::timer::cancel(&name.to_string());
}
