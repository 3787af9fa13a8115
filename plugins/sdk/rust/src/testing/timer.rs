//! The timers of the plugin: each stays until the test takes it. There is no clock.

use super::state::{error, with_state};
use crate::bindings::informer::plugin::types::{Error, ErrorCode};

pub(crate) fn after(name: &str, millis: u32) -> Result<(), Error> {
    if name.is_empty() {
        return Err(error(ErrorCode::Invalid, "the name of a timer is empty".to_owned()));
    }
    with_state(|state| state.timers.insert(name.to_owned(), millis));
    Ok(())
}

pub(crate) fn cancel(name: &str) {
    with_state(|state| state.timers.remove(name));
}

/// Takes the timer with the shortest delay.
pub(super) fn take() -> Option<(String, u32)> {
    with_state(|state| {
        let (earliest, _) = state.timers.iter().min_by_key(|(_, millis)| **millis)?;
        let earliest = earliest.clone();
        state.timers.remove_entry(&earliest)
    })
}
