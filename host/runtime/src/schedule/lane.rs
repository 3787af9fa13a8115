//! What all instances of one plugin share of the schedule.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

use super::{cpu_budget::CpuBudget, turnstile::Turnstile};
use crate::stats::Counters;

/// A plugin's place at the turnstile, its budget, and where both are counted.
pub(crate) struct Lane {
    pub(super) turnstile: Arc<Turnstile>,
    /// At the turnstile.
    pub(super) number: usize,
    pub(super) budget: Option<CpuBudget>,
    pub(super) counters: Arc<Counters>,
}

/// A slice that runs.
pub(super) struct Running {
    since: Instant,
    /// Of the thread; read for plugins with a budget only, because reading it costs a system call.
    cpu: Option<Duration>,
}

// === impl Lane ===

impl Lane {
    /// A place of its own. `cpu`: processor time a second, over all instances; none: no limit.
    pub(crate) fn new(turnstile: &Arc<Turnstile>, cpu: Option<Duration>, counters: Arc<Counters>) -> Self {
        let budget = cpu.map(|share| CpuBudget::new(share, Instant::now()));
        Self { number: turnstile.open(), turnstile: Arc::clone(turnstile), budget, counters }
    }

    /// The most turns of others that one of its guests has waited for.
    pub(crate) fn turns_let_pass(&self) -> u64 {
        self.turnstile.let_pass(self.number)
    }

    /// A slice begins.
    pub(super) fn begin(&self, since: Instant) -> Running {
        Running { since, cpu: self.budget.as_ref().map(|_| thread_time()) }
    }

    /// A slice ended; gives how long it took.
    pub(super) fn end(&self, running: &Running, now: Instant) -> Duration {
        let took = now.saturating_duration_since(running.since);
        if let (Some(budget), Some(before)) = (&self.budget, running.cpu) {
            budget.charge(thread_time().saturating_sub(before));
        }
        self.counters.ran(took);
        took
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.turnstile.close(self.number);
    }
}

/// What this thread has used so far.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
