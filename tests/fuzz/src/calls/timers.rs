//! The timers of the plugin.

use std::{collections::BTreeMap, time::Duration};

use informer_runtime::capabilities::{TimerError, TimerSource};
use parking_lot::Mutex;

/// The most timers.
const MOST: usize = 3;

/// A plugin has at most three timers.
#[derive(Default)]
pub(super) struct Timers(Mutex<BTreeMap<String, Duration>>);

impl TimerSource for Timers {
    fn set(&self, name: &str, delay: Duration) -> Result<(), TimerError> {
        let mut timers = self.0.lock();
        if timers.len() >= MOST && !timers.contains_key(name) {
            return Err(TimerError::TooMany { most: MOST });
        }
        timers.insert(name.to_owned(), delay);
        Ok(())
    }

    fn cancel(&self, name: &str) {
        self.0.lock().remove(name);
    }
}
