//! The plugin's workqueue: what was added is kept until the test takes it. There is no capacity, and no time.

use std::collections::{BTreeMap, VecDeque};

use super::state::with_state;
use crate::bindings::informer::plugin::types::Error;

/// The queue of a test.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) waiting: VecDeque<String>,
    /// With the milliseconds asked for.
    pub(super) delayed: BTreeMap<String, u32>,
    requeues: BTreeMap<String, u32>,
}

pub(crate) fn add(key: &str) -> Result<(), Error> {
    with_state(|state| {
        let waiting = &mut state.workqueue.waiting;
        if waiting.iter().all(|known| known != key) {
            waiting.push_back(key.to_owned());
        }
    });
    Ok(())
}

pub(crate) fn add_after(key: &str, millis: u32) -> Result<(), Error> {
    if millis == 0 {
        return add(key);
    }
    with_state(|state| {
        let due = state.workqueue.delayed.entry(key.to_owned()).or_insert(millis);
        *due = millis.min(*due);
    });
    Ok(())
}

/// It counts, and waits for no backoff.
pub(crate) fn add_rate_limited(key: &str) -> Result<(), Error> {
    with_state(|state| *state.workqueue.requeues.entry(key.to_owned()).or_default() += 1);
    add(key)
}

pub(crate) fn forget(key: &str) {
    with_state(|state| state.workqueue.requeues.remove(key));
}

pub(crate) fn num_requeues(key: &str) -> u32 {
    with_state(|state| state.workqueue.requeues.get(key).copied().unwrap_or_default())
}

pub(crate) fn length() -> u32 {
    with_state(|state| u32::try_from(state.workqueue.waiting.len()).unwrap_or(u32::MAX))
}
