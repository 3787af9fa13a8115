//! What all instances of one plugin share of the schedule.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;

use super::{cpu_budget::CpuBudget, turnstile::Turnstile};
use crate::stats::Counters;

/// A plugin's place at the turnstile, its budget, and where both are counted.
pub(crate) struct Lane {
    pub(super) turnstile: Arc<Turnstile>,
    /// At the turnstile.
    pub(super) number: usize,
    budget: ArcSwapOption<CpuBudget>,
    /// The budget is another one.
    limited: Arc<Notify>,
    pub(super) counters: Arc<Counters>,
}

/// A slice that runs.
pub(super) struct Running {
    since: Instant,
    /// Of the thread, and whom to charge; read for plugins with a budget only, because reading it costs a system call.
    cpu: Option<(Arc<CpuBudget>, Duration)>,
}

// === impl Lane ===

impl Lane {
    /// A place of its own. `cpu`: processor time a second, over all instances; none: no limit.
    pub(crate) fn new(turnstile: &Arc<Turnstile>, cpu: Option<Duration>, counters: Arc<Counters>) -> Self {
        let budget = cpu.map(|share| Arc::new(CpuBudget::new(share, Instant::now())));
        Self {
            number: turnstile.open(),
            turnstile: Arc::clone(turnstile),
            budget: ArcSwapOption::new(budget),
            limited: Arc::default(),
            counters,
        }
    }

    /// From now on this share, also for those who wait. What was saved and what is owed stays, as far as the new share
    /// holds it: a plugin gains nothing by being changed.
    pub(crate) fn limit(&self, cpu: Option<Duration>) {
        let before = self.budget.load_full();
        if before.as_ref().map(|budget| budget.share()) == cpu {
            return;
        }
        let now = Instant::now();
        self.budget.store(cpu.map(|share| {
            Arc::new(match &before {
                Some(budget) => budget.succeeded_by(share, now),
                None => CpuBudget::new(share, now),
            })
        }));
        self.limited.notify_waiters();
    }

    /// The budget there is, and what is ready once it is another one.
    pub(super) fn budget(&self) -> Option<(Arc<CpuBudget>, impl Future<Output = ()> + Send + use<>)> {
        if self.budget.load().is_none() {
            return None;
        }
        // First: what changes afterwards is heard of.
        let changed = Arc::clone(&self.limited).notified_owned();
        Some((self.budget.load_full()?, changed))
    }

    /// The most turns of others that one of its guests has waited for.
    pub(crate) fn turns_let_pass(&self) -> u64 {
        self.turnstile.let_pass(self.number)
    }

    /// A slice begins.
    pub(super) fn begin(&self, since: Instant) -> Running {
        Running { since, cpu: self.budget.load_full().map(|budget| (budget, thread_time())) }
    }

    /// A slice ended; gives how long it took.
    pub(super) fn end(&self, running: &Running, now: Instant) -> Duration {
        let took = now.saturating_duration_since(running.since);
        if let Some((budget, before)) = &running.cpu {
            budget.charge(thread_time().saturating_sub(*before));
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
