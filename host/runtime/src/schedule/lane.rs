//! The part of the schedule that all instances of one plugin share.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;

use super::{
    blocking_work::{take_blocking_time, thread_time},
    cpu_budget::CpuBudget,
    turnstile::Turnstile,
};
use crate::counter::Counter;

/// The lane of one plugin: its place at the turnstile, its processor budget, and the counters of both.
pub(crate) struct Lane {
    pub(super) turnstile: Arc<Turnstile>,
    /// The number of the lane at the turnstile.
    pub(super) number: usize,
    budget: ArcSwapOption<CpuBudget>,
    /// Notified when the budget is replaced.
    limited: Arc<Notify>,
    pub(crate) counters: LaneCounters,
}

/// Counters of the schedule of one plugin.
#[derive(Debug, Default)]
pub(crate) struct LaneCounters {
    /// Time that slices took.
    pub(crate) running: Counter,
    pub(crate) slices: Counter,
    /// Waits for the processor share.
    pub(crate) throttled: Counter,
    /// Time of these waits.
    pub(crate) throttled_time: Counter,
    /// Waits for a turn.
    pub(crate) turns_waited: Counter,
}

/// A slice in progress.
pub(super) struct Running {
    since: Instant,
    /// The budget to charge, and the processor time of the thread at the start of the slice. `None` for a plugin without a
    /// budget: reading the time is a system call.
    cpu: Option<(Arc<CpuBudget>, Duration)>,
}

// === impl Lane ===

impl Lane {
    /// Opens a lane. `cpu` is the processor time per second of all instances together; `None` means no limit.
    pub(crate) fn new(turnstile: &Arc<Turnstile>, cpu: Option<Duration>) -> Self {
        let budget = cpu.map(|share| Arc::new(CpuBudget::new(share, Instant::now())));
        Self {
            number: turnstile.open(),
            turnstile: Arc::clone(turnstile),
            budget: ArcSwapOption::new(budget),
            limited: Arc::default(),
            counters: LaneCounters::default(),
        }
    }

    /// Changes the share, also for work that waits now. The level of the budget stays, up to the new share: a plugin gains
    /// nothing from a new configuration.
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

    /// The budget, and a future that completes when the budget is replaced. Returns `None` if there is no budget.
    pub(super) fn budget(&self) -> Option<(Arc<CpuBudget>, impl Future<Output = ()> + Send + use<>)> {
        if self.budget.load().is_none() {
            return None;
        }
        // Before the budget is read, so that no change is missed.
        let changed = Arc::clone(&self.limited).notified_owned();
        Some((self.budget.load_full()?, changed))
    }

    /// The most turns that other plugins were given while one guest of this plugin waited.
    pub(crate) fn turns_let_pass(&self) -> u64 {
        self.turnstile.let_pass(self.number)
    }

    /// Begins a slice.
    pub(super) fn begin(&self, since: Instant) -> Running {
        // Blocking work whose result arrived on this thread outside a slice is not work for this plugin.
        take_blocking_time();
        Running { since, cpu: self.budget.load_full().map(|budget| (budget, thread_time())) }
    }

    /// Ends a slice and returns how long it took.
    pub(super) fn end(&self, running: &Running, now: Instant) -> Duration {
        let took = now.saturating_duration_since(running.since);
        if let Some((budget, before)) = &running.cpu {
            budget.charge(thread_time().saturating_sub(*before) + take_blocking_time());
        }
        self.counters.running.add_duration(took);
        self.counters.slices.increment();
        took
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.turnstile.close(self.number);
    }
}
