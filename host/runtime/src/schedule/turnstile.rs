//! Who runs next: turns, given to the plugins in a circle, and at once to one that ran less than the others.

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

/// How long a turn is: the tick of the epoch, which ends it.
pub(crate) const TURN: Duration = Duration::from_millis(1);

/// A plugin that runs little saves so much of the time that others had meanwhile. What it uses of that, they wait at most.
const SAVED: Duration = Duration::from_millis(10);

/// Guests that may run besides those that have the turns, each until one of these has ended.
pub(crate) const BESIDE: usize = 1;

/// The clock goes on for so many ticks after the last guest: starting it costs a system call.
const RESTLESS_TICKS: u32 = 100;

/// Hands out turns, as many at a time as there are threads that run guests.
///
/// # Ordering
/// A plugin that finds no turn free waits in a circle with the other plugins, and its instances among themselves in the
/// order they came. So with `n` plugins at work on `t` threads, one that waits has to let `n / t` turns pass, however many
/// instances the others run.
///
/// Fairness is of time, not of calls: what each slice took is charged, also beyond a tick, where the host's own work for a
/// guest cannot be interrupted. A plugin that used less than the others, by a turn at least, is **behind**. It need not wait:
/// its guest runs beside those that have the turns, and the first turn of these that ends is not given on before it has
/// ended; and it is not taken from the turn by the tick. So a plugin that runs little hardly notices that others run without
/// pause, and one with short calls need not wait for a turn with each. How far a plugin can be behind is limited, so that
/// nobody can save up time and then keep the others from theirs.
///
/// It also says whether the epoch has to tick: with nobody at work the clock stands still.
pub(crate) struct Turnstile(Mutex<State>);

struct State {
    /// Turns that nobody has. Where one is free, nobody waits. Below zero: so many guests run beside.
    free: isize,
    /// What the plugin had used that had used most of those that were given a turn, when it was given one.
    reached: Duration,
    lanes: Slab<Queue>,
    /// Those of the lanes where somebody waits, the next one first.
    circle: VecDeque<usize>,
    waiters: Slab<Waiter>,
    /// Turns that somebody waited for and got.
    given: u64,
    clock: Clock,
}

/// Of one plugin.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<usize>,
    /// How long its guests ran; and what it did not use and could not save, so that all plugins can be compared.
    used: Duration,
    /// Its instances that have a turn, or run beside those that do.
    inside: usize,
    /// Turns that it waited for and got.
    given: u64,
    /// The most turns that others were given while one of its instances waited.
    let_pass: u64,
}

enum Waiter {
    Waits {
        waker: Waker,
        /// Turns that the other lanes had been given by then.
        given: u64,
    },
    /// It has a turn, and has not taken it yet.
    Called,
}

struct Clock {
    thread: Option<Thread>,
    ticking: bool,
    /// Guests that run.
    running: usize,
    /// Ticks without one.
    idle: u32,
}

/// The turn of one call: waited for, held, given back.
pub(super) struct Turn {
    turnstile: Arc<Turnstile>,
    lane: usize,
    stage: Stage,
    /// The plugin was behind after the last slice.
    is_behind: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Outside,
    /// By its number among the waiters.
    Waiting(usize),
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

    /// The thread to unpark when the clock has to go on.
    pub(crate) fn set_clock(&self, thread: Thread) {
        self.0.lock().clock.thread = Some(thread);
    }

    /// Asked at each tick: whether the clock may stand still until it is unparked.
    pub(crate) fn may_rest(&self) -> bool {
        let clock = &mut self.0.lock().clock;
        clock.idle = if clock.running > 0 { 0 } else { clock.idle + 1 };
        clock.ticking = clock.idle < RESTLESS_TICKS;
        !clock.ticking
    }

    /// The most turns that other lanes were given while somebody waited in this one.
    pub(super) fn let_pass(&self, lane: usize) -> u64 {
        self.0.lock().lanes.get(lane).map_or(0, |queue| queue.let_pass)
    }

    /// A lane for one plugin.
    pub(super) fn open(&self) -> usize {
        self.0.lock().lanes.insert(Queue::default())
    }

    /// The plugin is gone, and every call of it.
    pub(super) fn close(&self, lane: usize) {
        self.0.lock().lanes.try_remove(lane);
    }
}

// === impl State ===

impl State {
    /// True if it has a turn now; otherwise it has to wait.
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

    /// An instance of the lane has a turn.
    fn give(&mut self, lane: usize) {
        self.free -= 1;
        if let Some(queue) = self.lanes.get_mut(lane) {
            queue.inside += 1;
            self.reached = self.reached.max(queue.used);
        }
    }

    /// A slice of the lane took so long. True if it is behind all the same.
    fn charge(&mut self, lane: usize, took: Duration) -> bool {
        let Some(queue) = self.lanes.get_mut(lane) else { return false };
        queue.used += took;
        queue.is_behind(self.reached)
    }

    /// Whether an instance that was interrupted goes on: the plugin is behind, it is this one's turn, and no other instance of
    /// it waits.
    fn goes_on(&mut self, lane: usize) -> bool {
        let Some(queue) = self.lanes.get_mut(lane) else { return false };
        let goes_on = self.free >= 0 && queue.waiting.is_empty() && queue.is_behind(self.reached);
        if goes_on {
            queue.given += 1;
            self.given += 1;
        }
        goes_on
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

    /// An instance of the lane gives its turn back; gives whom to wake, who has it now: whoever waits longest in the next lane.
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

    /// A waiter that is gone; gives whom to wake instead of it.
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
    /// It used less than others, by a turn at least.
    fn is_behind(&self, reached: Duration) -> bool {
        self.used + TURN <= reached
    }
}

// === impl Clock ===

impl Clock {
    /// A guest runs; gives the thread to unpark, if the clock stood still.
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
        Self { turnstile: Arc::clone(turnstile), lane, stage: Stage::Outside, is_behind: false }
    }

    /// True from the first [`Turn::poll_enter`] to the end of the turn.
    pub(super) fn is_wanted(&self) -> bool {
        self.stage != Stage::Outside
    }

    /// Ready once it is this call's turn; [`Turn::leave`] ends it.
    pub(super) fn poll_enter(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.turnstile.0.lock();
        match self.stage {
            Stage::Outside if state.enter(self.lane) => {}
            Stage::Outside => {
                self.stage = Stage::Waiting(state.wait(self.lane, context.waker().clone()));
                return Poll::Pending;
            }
            Stage::Waiting(waiter) => {
                if let Some(Waiter::Waits { waker, .. }) = state.waiters.get_mut(waiter) {
                    waker.clone_from(context.waker());
                    return Poll::Pending;
                }
                state.waiters.try_remove(waiter);
            }
            Stage::Holding => return Poll::Ready(()),
        }
        self.stage = Stage::Holding;
        let clock = state.clock.run();
        drop(state);
        if let Some(clock) = clock {
            clock.unpark();
        }
        Poll::Ready(())
    }

    /// Whether the plugin was behind when the last slice had ended.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// The slice was interrupted after it took so long. The turn is over, unless the plugin is behind.
    pub(super) fn interrupt(&mut self, took: Duration) {
        self.end(took, true);
    }

    /// The slice is over, or not wanted any more. It took so long.
    pub(super) fn leave(&mut self, took: Duration) {
        self.end(took, false);
    }

    fn end(&mut self, took: Duration, interrupted: bool) {
        let mut state = self.turnstile.0.lock();
        let next = match self.stage {
            Stage::Holding => {
                self.is_behind = state.charge(self.lane, took);
                if interrupted && state.goes_on(self.lane) {
                    return;
                }
                state.clock.running -= 1;
                state.pass_on(self.lane)
            }
            Stage::Waiting(waiter) => state.forget(self.lane, waiter),
            Stage::Outside => None,
        };
        self.stage = Stage::Outside;
        drop(state);
        if let Some(next) = next {
            next.wake();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.stage != Stage::Outside {
            self.leave(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests;
