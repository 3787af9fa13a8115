//! The plugin's workqueue: it keeps each key until the test takes the key. It has no capacity and no clock.

use super::state::with_state;
use crate::bindings::informer::plugin::types::Error;

pub(crate) fn add(key: &str) -> Result<(), Error> {
    with_state(|state| {
        if state.ready.iter().all(|known| known != key) {
            state.ready.push_back(key.to_owned());
        }
    });
    Ok(())
}

/// If a key is added several times, the shortest delay wins.
pub(crate) fn add_after(key: &str, millis: u32) -> Result<(), Error> {
    if millis == 0 {
        return add(key);
    }
    with_state(|state| {
        let delay = state.delayed.entry(key.to_owned()).or_insert(millis);
        *delay = millis.min(*delay);
    });
    Ok(())
}

/// Counts the requeue and adds the key without a backoff.
pub(crate) fn add_rate_limited(key: &str) -> Result<(), Error> {
    with_state(|state| *state.requeues.entry(key.to_owned()).or_default() += 1);
    add(key)
}

pub(crate) fn forget(key: &str) {
    with_state(|state| state.requeues.remove(key));
}

pub(crate) fn num_requeues(key: &str) -> u32 {
    with_state(|state| state.requeues.get(key).copied().unwrap_or_default())
}

pub(crate) fn length() -> u32 {
    with_state(|state| u32::try_from(state.ready.len()).unwrap_or(u32::MAX))
}

/// Takes the next ready key, or else the delayed key with the shortest delay. A key that is both ready and delayed stays
/// delayed when it is taken as a ready key (W-7).
pub(super) fn take() -> Option<String> {
    with_state(|state| {
        state.ready.pop_front().or_else(|| {
            let (earliest, _) = state.delayed.iter().min_by_key(|(_, millis)| **millis)?;
            let earliest = earliest.clone();
            state.delayed.remove(&earliest);
            Some(earliest)
        })
    })
}
