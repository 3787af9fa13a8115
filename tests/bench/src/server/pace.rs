//! Events at a fixed rate, and when each of them was sent.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use crate::subject::nanoseconds;

/// The time from one paced event to the next: 1,000 events a second.
const TICK: Duration = Duration::from_millis(1);

/// The times at which paced events were sent. Empty until they begin.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Option<Paced>>);

#[derive(Debug)]
struct Paced {
    /// The index of the first paced event.
    first: u64,
    sent: Vec<u64>,
}

// === impl Pace ===

impl Pace {
    /// Records the times of all events from this index on.
    pub(super) fn begin(&self, first: u64) {
        self.0.lock().get_or_insert(Paced { first, sent: Vec::new() });
    }

    /// Records that an event is about to be written to a connection. There is one watch in a run.
    pub(super) fn record(&self, event: u64) {
        if let Some(paced) = self.0.lock().as_mut().filter(|paced| event >= paced.first) {
            paced.sent.push(nanoseconds());
        }
    }

    /// The times so far, in nanoseconds since 1970.
    pub(super) fn sent(&self) -> Vec<u64> {
        self.0.lock().as_ref().map_or_else(Vec::new, |paced| paced.sent.clone())
    }

    /// Calls `next` `count` times, once each millisecond. A late call does not delay those after it.
    pub(super) async fn count(count: u64, next: impl Fn()) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for _ in 0..count {
            ticks.tick().await;
            next();
        }
    }
}
