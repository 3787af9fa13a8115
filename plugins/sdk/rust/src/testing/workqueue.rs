//! The plugin's workqueue: it keeps each key until the test takes the key.

use super::state::with_state;
use crate::bindings::informer::plugin::types::Error;

pub(crate) fn add(key: &str) -> Result<(), Error> {
    with_state(|state| state.keys.add(key));
    Ok(())
}

pub(crate) fn add_after(key: &str, millis: u32) -> Result<(), Error> {
    with_state(|state| state.keys.add_after(key, millis));
    Ok(())
}

pub(crate) fn add_rate_limited(key: &str) -> Result<(), Error> {
    with_state(|state| state.keys.add_rate_limited(key));
    Ok(())
}

pub(crate) fn forget(key: &str) {
    with_state(|state| state.keys.forget(key));
}

pub(crate) fn num_requeues(key: &str) -> u32 {
    with_state(|state| state.keys.requeues(key))
}

pub(crate) fn length() -> u32 {
    with_state(|state| u32::try_from(state.keys.ready()).unwrap_or(u32::MAX))
}
