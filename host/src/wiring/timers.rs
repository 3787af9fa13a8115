//! The timers of one plugin, which are keys of the queue of its signals.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use informer_dispatch::workqueue::RateLimitingQueue;
use informer_runtime::{
    WallClock,
    capabilities::{TimerError, TimerSource},
};
use informer_types::{AddError, Signal};
use parking_lot::Mutex;

use crate::config::{Schedule, Timer};

/// The longest name of a timer.
const NAME_BYTES: usize = 512;

/// The longest wait for a time of the wall clock: a jump of the wall clock takes effect at the end of a wait.
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// The timers of one plugin, from the configuration and from its own calls. Clones share the same timers.
#[derive(Clone)]
pub(crate) struct Timers(Arc<Inner>);

struct Inner {
    queue: RateLimitingQueue,
    /// The timers of the configuration by their names.
    configured: Mutex<BTreeMap<String, Armed>>,
    /// The wall clock of a test.
    wall_clock: Option<Arc<dyn WallClock>>,
}

/// A timer of the configuration.
struct Armed {
    schedule: Schedule,
    /// When a timer with `cron` is due, by the wall clock.
    due: Option<Duration>,
    /// The last call, if it may have to be repeated.
    open: Option<OpenCall>,
}

/// A call that has not succeeded. It is repeated unless it became a dead letter.
struct OpenCall {
    /// When the dead letter of the timer was written, if the timer had one before the call.
    letter: Option<SystemTime>,
}

// === impl Timers ===

impl Timers {
    pub(crate) fn new(queue: RateLimitingQueue, wall_clock: Option<Arc<dyn WallClock>>) -> Self {
        Self(Arc::new(Inner { queue, configured: Mutex::default(), wall_clock }))
    }

    /// Replaces the timers of the configuration. A timer that does not change keeps its time; a timer that is removed does not
    /// fire any more.
    pub(crate) fn set_configured(&self, timers: &[Timer]) {
        let mut configured = self.0.configured.lock();
        let removed = configured.keys().filter(|name| timers.iter().all(|timer| timer.name != **name));
        let removed: Vec<String> = removed.cloned().collect();
        for name in removed {
            configured.remove(&name);
            self.0.queue.cancel(&key(&name));
        }
        for Timer { name, schedule } in timers {
            if configured.get(name).is_none_or(|armed| armed.schedule != *schedule) {
                let mut armed = Armed { schedule: schedule.clone(), due: None, open: None };
                self.arm(name, &mut armed);
                configured.insert(name.clone(), armed);
            }
        }
    }

    /// Begins each timer of the configuration anew, as a start of the host does. Times that have passed without a call are forgotten.
    pub(crate) fn restart(&self) {
        let mut configured = self.0.configured.lock();
        for (name, armed) in &mut *configured {
            self.0.queue.cancel(&key(name));
            armed.open = None;
            self.arm(name, armed);
        }
    }

    /// Call it when a timer was taken from the queue. It sets the next time of a timer of the configuration, and returns false if the
    /// wait ended before the timer is due: the caller then drops the work. If it returns true, the caller makes the call, and calls
    /// [`end`](Self::end) when the timer needs no further attempt.
    pub(crate) fn begin(&self, name: &str, attempt: u32) -> bool {
        let mut configured = self.0.configured.lock();
        let Some(armed) = configured.get_mut(name) else { return true };
        let letter = self.0.queue.dropped().get(&key(name).into()).map(|letter| letter.at);
        // A call that a quarantine spared is repeated with the same number.
        let is_repeated = attempt > 1 || armed.open.as_ref().is_some_and(|open| open.letter == letter);
        let fires = is_repeated || armed.due.is_none_or(|due| due <= self.now());
        armed.open = fires.then_some(OpenCall { letter });
        self.arm(name, armed);
        if !fires {
            self.0.queue.skip(&key(name));
        }
        fires
    }

    /// Call it when a call for a timer succeeded, or failed for good. It is not repeated.
    pub(crate) fn end(&self, name: &str) {
        if let Some(armed) = self.0.configured.lock().get_mut(name) {
            armed.open = None;
        }
    }

    /// Makes the call of a dead letter again, even if the timer is not due.
    ///
    /// # Errors
    /// [`AddError`] if the queue does not accept the timer. No call is made then.
    pub(crate) fn repeat(&self, name: &str) -> Result<(), AddError> {
        // `begin` waits for this lock, so it sees the open call.
        let mut configured = self.0.configured.lock();
        self.0.queue.raise(&key(name))?;
        if let Some(armed) = configured.get_mut(name) {
            let letter = self.0.queue.dropped().get(&key(name).into()).map(|letter| letter.at);
            armed.open = Some(OpenCall { letter });
        }
        Ok(())
    }

    fn arm(&self, name: &str, armed: &mut Armed) {
        let wait = match &armed.schedule {
            Schedule::Every(period) => Some(*period),
            Schedule::Cron(cron) => {
                let now = self.now();
                armed.due = cron.after(now);
                armed.due.map(|due| due.saturating_sub(now).min(LONGEST_WAIT))
            }
        };
        // The name of a timer of the configuration is short.
        wait.map(|wait| self.0.queue.schedule(&key(name), wait));
    }

    /// Time since 1970.
    fn now(&self) -> Duration {
        match &self.0.wall_clock {
            Some(clock) => clock.now(),
            None => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
        }
    }
}

impl TimerSource for Timers {
    fn set(&self, name: &str, delay: Duration) -> Result<(), TimerError> {
        let configured = self.0.configured.lock();
        if configured.contains_key(name) {
            let why = format!("`{name}` is a [[plugin.timer]] of the configuration: choose another name");
            return Err(TimerError::Name(why));
        }
        if name.is_empty() || name.len() > NAME_BYTES {
            let bytes = name.len();
            let why = format!("the name of a timer has 1 to {NAME_BYTES} bytes, and this one has {bytes}");
            return Err(TimerError::Name(why));
        }
        self.0.queue.schedule_own(&key(name), delay).map_err(|error| match error {
            AddError::Full { capacity } => TimerError::TooMany { most: capacity },
            AddError::TooLong { .. } => TimerError::Name(error.to_string()),
        })
    }

    fn cancel(&self, name: &str) {
        let configured = self.0.configured.lock();
        if !configured.contains_key(name) {
            self.0.queue.cancel(&key(name));
        }
    }
}

fn key(name: &str) -> String {
    Signal::Timer(name.into()).to_string()
}

#[cfg(test)]
mod tests;
