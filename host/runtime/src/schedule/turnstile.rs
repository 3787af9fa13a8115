//! The turnstile: gives turns to the lanes of the plugins, one lane after the other, and at once to a plugin that ran less
//! than the others.

use std::{
    collections::VecDeque,
    num::NonZeroUsize,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread::Thread,
    time::Duration,
};

use parking_lot::Mutex;
use slab::Slab;

/// The longest turn: the interval of the epoch's ticks, which end turns.
pub(crate) const TURN: Duration = Duration::from_millis(1);

/// The most time that a plugin can be behind the others, and so the longest time that the others wait while it catches up.
const SAVED: Duration = Duration::from_millis(10);

/// The most extra guests that may run beside the guests with turns. An extra guest keeps the next turn that ends from being
/// given on.
pub(crate) const BESIDE: usize = 1;

/// Ticks after which the clock rests if no guest runs. Each tick wakes a thread, and so does the start of the clock: between a few
/// calls in a second the clock should rest.
const RESTLESS_TICKS: u32 = 2;

/// Gives turns to guests. At most as many turns are held at a time as threads run guests.
///
/// # Ordering
/// If no turn is free, a guest waits in the lane of its plugin: first come, first served. Free turns go round the lanes in
/// which guests wait. With `n` busy plugins on `t` threads, a guest waits for about `n / t` turns, however many guests the
/// other plugins run.
///
/// # Fairness
/// Time is shared fairly, not the number of calls. Each slice is charged to its plugin for the time it took, even beyond a
/// tick, because some work of the host for a guest cannot be interrupted. A plugin that used at least one turn less than the
/// others is **behind**:
///
/// - Its guest does not wait for a turn. It runs beside the guests with turns as an extra guest, at most [`BESIDE`] at a time.
///   The next turn that ends is not passed on until this guest has ended.
/// - A tick does not end its turn, unless an extra guest runs or another guest of the plugin waits.
///
/// So a plugin that runs little hardly notices plugins that run all the time. A plugin can be behind by a limited time only,
/// so it cannot save time for hours and then block the others.
///
/// The turnstile also decides whether the epoch has to tick: while no guest runs, the clock rests.
pub(crate) struct Turnstile(Mutex<State>);

struct State {
    /// The number of free turns. No guest waits while it is positive. If negative, the number of extra guests running.
    free: isize,
    /// The highest time used by any plugin when it was given a turn.
    reached: Duration,
    lanes: Slab<Queue>,
    /// The lanes in which guests wait. The next one to get a turn is first.
    circle: VecDeque<usize>,
    waiters: Slab<Waiter>,
    /// Turns given to guests that waited.
    given: u64,
    clock: Clock,
}

/// The lane of one plugin.
#[derive(Default)]
struct Queue {
    /// Its waiting guests, by number among the waiters.
    waiting: VecDeque<usize>,
    /// Time that its guests ran, plus the unused time that it could not save. So the plugins can be compared.
    used: Duration,
    /// Its guests that run, with a turn or as extra guests.
    inside: usize,
    /// Turns given to its guests that waited.
    given: u64,
    /// The most turns that other lanes were given while one of its guests waited. A turn that a plugin keeps because it is behind
    /// does not count: it catches up by at most [`SAVED`].
    let_pass: u64,
}

enum Waiter {
    Waits {
        waker: Waker,
        /// Turns that other lanes had been given when the wait began.
        given: u64,
    },
    /// The guest was given a turn and has not started to use it.
    Called,
}

struct Clock {
    thread: Option<Thread>,
    ticking: bool,
    /// Number of guests that run.
    running: usize,
    /// Ticks since the last guest ran.
    idle: u32,
}

/// The claim of one piece of work to turns.
pub(super) struct Turn {
    turnstile: Arc<Turnstile>,
    lane: usize,
    phase: Phase,
    /// True if the plugin was behind after the last slice.
    is_behind: bool,
}

/// Says if a piece of work has a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The work has no turn, and does not wait for one.
    Outside,
    /// The work waits for a turn, under this number among the waiters.
    Waiting(usize),
    /// The work has a turn.
    Holding,
}

// === impl Turnstile ===

impl Turnstile {
    pub(crate) fn new(turns: NonZeroUsize) -> Self {
        let clock = Clock { thread: None, ticking: false, running: 0, idle: 0 };
        let free = isize::try_from(turns.get()).unwrap_or(isize::MAX);
        let (reached, lanes, circle, waiters, given) = Default::default();
        Self(Mutex::new(State { free, reached, lanes, circle, waiters, given, clock }))
    }

    /// Sets the thread of the clock. It is unparked when the clock has to tick again.
    pub(crate) fn set_clock(&self, thread: Thread) {
        self.0.lock().clock.thread = Some(thread);
    }

    /// To be called at each tick. Returns true if the clock may rest until it is unparked.
    pub(crate) fn may_rest(&self) -> bool {
        let clock = &mut self.0.lock().clock;
        clock.idle = if clock.running > 0 { 0 } else { clock.idle + 1 };
        clock.ticking = clock.idle < RESTLESS_TICKS;
        !clock.ticking
    }

    /// The most turns that other lanes were given while a guest of this lane waited.
    pub(super) fn let_pass(&self, lane: usize) -> u64 {
        self.0.lock().lanes.get(lane).map_or(0, |queue| queue.let_pass)
    }

    /// Opens a lane for a plugin.
    pub(super) fn open(&self) -> usize {
        self.0.lock().lanes.insert(Queue::default())
    }

    /// Closes the lane. The plugin has no work left.
    pub(super) fn close(&self, lane: usize) {
        self.0.lock().lanes.try_remove(lane);
    }
}

// === impl State ===

impl State {
    /// Gives a turn to a guest of the lane. Returns false if the guest has to wait.
    fn enter(&mut self, lane: usize) -> bool {
        let may_run_beside = self.free > -BESIDE.cast_signed();
        let Some(queue) = self.lanes.get_mut(lane) else { return false };
        queue.used = queue.used.max(self.reached.saturating_sub(SAVED));
        if self.free <= 0 && !(may_run_beside && queue.inside == 0 && queue.is_behind(self.reached)) {
            return false;
        }
        self.give(lane);
        true
    }

    /// Gives a turn to a guest of the lane.
    fn give(&mut self, lane: usize) {
        self.free -= 1;
        if let Some(queue) = self.lanes.get_mut(lane) {
            queue.inside += 1;
            self.reached = self.reached.max(queue.used);
        }
    }

    /// Charges a slice to the lane. Returns true if the plugin is still behind.
    fn charge(&mut self, lane: usize, took: Duration) -> bool {
        let Some(queue) = self.lanes.get_mut(lane) else { return false };
        queue.used += took;
        queue.is_behind(self.reached)
    }

    /// Returns true if an interrupted guest keeps its turn. It does if its plugin is behind, if no extra guest runs, and if no other
    /// guest of this plugin is waiting for a turn.
    fn goes_on(&self, lane: usize) -> bool {
        let Some(queue) = self.lanes.get(lane) else { return false };
        self.free >= 0 && queue.waiting.is_empty() && queue.is_behind(self.reached)
    }

    fn wait(&mut self, lane: usize, waker: Waker) -> usize {
        let given = self.given_to_others(lane);
        let waiter = self.waiters.insert(Waiter::Waits { waker, given });
        if let Some(queue) = self.lanes.get_mut(lane) {
            if queue.waiting.is_empty() {
                self.circle.push_back(lane);
            }
            queue.waiting.push_back(waiter);
        }
        waiter
    }

    fn given_to_others(&self, lane: usize) -> u64 {
        self.given - self.lanes.get(lane).map_or(0, |queue| queue.given)
    }

    /// Takes the turn back from a guest of the lane and gives it to the guest that has waited longest in the next lane.
    /// Returns the waker of that guest, or `None` if no guest gets the turn.
    fn pass_on(&mut self, lane: usize) -> Option<Waker> {
        self.free += 1;
        if let Some(queue) = self.lanes.get_mut(lane) {
            queue.inside -= 1;
        }
        if self.free <= 0 {
            return None;
        }
        let lane = self.circle.pop_front()?;
        let given_to_others = self.given_to_others(lane);
        let queue = self.lanes.get_mut(lane)?;
        let waiter = self.waiters.get_mut(queue.waiting.pop_front()?)?;
        if !queue.waiting.is_empty() {
            self.circle.push_back(lane);
        }
        let Waiter::Waits { waker, given } = std::mem::replace(waiter, Waiter::Called) else { return None };
        queue.let_pass = queue.let_pass.max(given_to_others - given);
        queue.given += 1;
        self.given += 1;
        self.give(lane);
        Some(waker)
    }

    /// Removes a waiter. Returns the waker of the guest that gets its turn, if it was given one.
    fn forget(&mut self, lane: usize, waiter: usize) -> Option<Waker> {
        let called = matches!(self.waiters.try_remove(waiter), Some(Waiter::Called));
        if called {
            return self.pass_on(lane);
        }
        if let Some(queue) = self.lanes.get_mut(lane) {
            queue.waiting.retain(|other| *other != waiter);
            if queue.waiting.is_empty() {
                self.circle.retain(|other| *other != lane);
            }
        }
        None
    }
}

// === impl Queue ===

impl Queue {
    /// Returns true if the plugin used at least one turn less than `reached`.
    fn is_behind(&self, reached: Duration) -> bool {
        self.used + TURN <= reached
    }
}

// === impl Clock ===

impl Clock {
    /// Counts a guest that runs. Returns the thread to unpark if the clock rested.
    fn run(&mut self) -> Option<Thread> {
        self.running += 1;
        if self.ticking {
            return None;
        }
        (self.ticking, self.idle) = (true, 0);
        self.thread.clone()
    }
}

// === impl Turn ===

impl Turn {
    pub(super) fn new(turnstile: &Arc<Turnstile>, lane: usize) -> Self {
        Self { turnstile: Arc::clone(turnstile), lane, phase: Phase::Outside, is_behind: false }
    }

    /// Returns true from the first [`Turn::poll_enter`] to the end of the turn.
    pub(super) fn is_wanted(&self) -> bool {
        self.phase != Phase::Outside
    }

    /// Ready once the work has a turn. [`Turn::leave`] ends the turn.
    pub(super) fn poll_enter(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.turnstile.0.lock();
        match self.phase {
            Phase::Outside if state.enter(self.lane) => {}
            Phase::Outside => {
                self.phase = Phase::Waiting(state.wait(self.lane, context.waker().clone()));
                return Poll::Pending;
            }
            Phase::Waiting(waiter) => {
                if let Some(Waiter::Waits { waker, .. }) = state.waiters.get_mut(waiter) {
                    waker.clone_from(context.waker());
                    return Poll::Pending;
                }
                state.waiters.try_remove(waiter);
            }
            Phase::Holding => return Poll::Ready(()),
        }
        self.phase = Phase::Holding;
        let clock = state.clock.run();
        drop(state);
        if let Some(clock) = clock {
            clock.unpark();
        }
        Poll::Ready(())
    }

    /// Returns true if the plugin was behind after the last slice.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Ends a slice that was interrupted by a tick. The turn ends too, unless [`State::goes_on`] returns true.
    pub(super) fn interrupt(&mut self, took: Duration) {
        self.end(took, true);
    }

    /// Ends a slice and the turn, or the wait for a turn.
    pub(super) fn leave(&mut self, took: Duration) {
        self.end(took, false);
    }

    fn end(&mut self, took: Duration, interrupted: bool) {
        let mut state = self.turnstile.0.lock();
        let next = match self.phase {
            Phase::Holding => {
                self.is_behind = state.charge(self.lane, took);
                if interrupted && state.goes_on(self.lane) {
                    return;
                }
                state.clock.running -= 1;
                state.pass_on(self.lane)
            }
            Phase::Waiting(waiter) => state.forget(self.lane, waiter),
            Phase::Outside => None,
        };
        self.phase = Phase::Outside;
        drop(state);
        if let Some(next) = next {
            next.wake();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.phase != Phase::Outside {
            self.leave(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests;
