//! Who runs next: turns, given to the plugins in a circle.

use std::{
    collections::VecDeque,
    num::NonZeroUsize,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use slab::Slab;

/// How long a turn is: the tick of the epoch, which ends it.
pub(crate) const TURN: Duration = Duration::from_millis(1);

/// So often a plugin has a turn to itself without waiting: one that runs little never waits.
const RENEWAL: Duration = Duration::from_millis(10);

/// The clock goes on for so many ticks after the last guest: starting it costs a system call.
const RESTLESS_TICKS: u32 = 100;

/// Hands out turns, as many at a time as there are threads that run guests.
///
/// # Ordering
/// A plugin that finds no turn free waits in a circle with the other plugins, and its instances among themselves in the
/// order they came. So with `n` plugins at work on `t` threads, one that waits has to let `n / t` turns pass, however many
/// instances the others run.
///
/// A plugin that did not use up its turn, because its call was short, may come back for what is left of it without
/// waiting, with one instance: fairness is of time, not of calls, and short calls need no exchange of turns after each. Every
/// 10 ms it is given a turn in the same way, so that a plugin that runs little never waits.
///
/// It also says whether the epoch has to tick: with nobody at work the clock stands still.
pub(crate) struct Turnstile(Mutex<State>);

struct State {
    /// Turns that nobody has. Where one is free, nobody waits.
    free: usize,
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
    /// Of its last turn.
    left: Duration,
    /// When it last had a turn without waiting.
    renewed: Option<Instant>,
    /// Its instances that have a turn, or run on what is left of one.
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
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Outside,
    /// By its number among the waiters.
    Waiting(usize),
    Holding,
    /// On what is left of a turn.
    Returned,
}

// === impl Turnstile ===

impl Turnstile {
    pub(crate) fn new(turns: NonZeroUsize) -> Self {
        let clock = Clock { thread: None, ticking: false, running: 0, idle: 0 };
        let (lanes, circle, waiters, given) = Default::default();
        Self(Mutex::new(State { free: turns.get(), lanes, circle, waiters, given, clock }))
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
    fn enter(&mut self, lane: usize, now: Instant) -> Option<Stage> {
        let queue = self.lanes.get_mut(lane)?;
        if self.free > 0 {
            self.free -= 1;
            queue.call();
            return Some(Stage::Holding);
        }
        if queue.renewed.is_none_or(|renewed| now.saturating_duration_since(renewed) >= RENEWAL) {
            (queue.left, queue.renewed) = (TURN, Some(now));
        }
        if queue.left.is_zero() || queue.inside > 0 {
            return None;
        }
        queue.inside += 1;
        Some(Stage::Returned)
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

    /// Gives a turn to whoever waits longest in the next lane.
    fn pass_on(&mut self) -> Option<Waker> {
        let called = self.call_next();
        if called.is_none() {
            self.free += 1;
        }
        called
    }

    fn call_next(&mut self) -> Option<Waker> {
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
        queue.call();
        self.given += 1;
        Some(waker)
    }

    /// A waiter that is gone; gives whom to wake instead of it.
    fn forget(&mut self, lane: usize, waiter: usize) -> Option<Waker> {
        let called = matches!(self.waiters.try_remove(waiter), Some(Waiter::Called));
        if let Some(queue) = self.lanes.get_mut(lane) {
            if called {
                queue.inside -= 1;
                return self.pass_on();
            }
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
    /// One of its instances gets a turn.
    fn call(&mut self) {
        self.inside += 1;
        self.left = TURN;
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
        Self { turnstile: Arc::clone(turnstile), lane, stage: Stage::Outside }
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }

    /// Ready once it is this call's turn; [`Turn::leave`] ends it.
    pub(super) fn poll_enter(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<()> {
        let mut state = self.turnstile.0.lock();
        let entered = match self.stage {
            Stage::Outside => state.enter(self.lane, now),
            Stage::Waiting(waiter) => match state.waiters.get_mut(waiter) {
                Some(Waiter::Waits { waker, .. }) => {
                    waker.clone_from(context.waker());
                    return Poll::Pending;
                }
                _ => {
                    state.waiters.try_remove(waiter);
                    Some(Stage::Holding)
                }
            },
            held @ (Stage::Holding | Stage::Returned) => {
                self.stage = held;
                return Poll::Ready(());
            }
        };
        let Some(entered) = entered else {
            self.stage = Stage::Waiting(state.wait(self.lane, context.waker().clone()));
            return Poll::Pending;
        };
        self.stage = entered;
        let clock = state.clock.run();
        drop(state);
        if let Some(clock) = clock {
            clock.unpark();
        }
        Poll::Ready(())
    }

    /// The slice is over: it used so much of the turn.
    pub(super) fn leave(&mut self, used: Duration) {
        let stage = std::mem::replace(&mut self.stage, Stage::Outside);
        let mut state = self.turnstile.0.lock();
        if let Stage::Holding | Stage::Returned = stage {
            state.clock.running -= 1;
            if let Some(queue) = state.lanes.get_mut(self.lane) {
                queue.left = queue.left.saturating_sub(used);
                queue.inside -= 1;
            }
        }
        let next = match stage {
            Stage::Holding => state.pass_on(),
            Stage::Waiting(waiter) => state.forget(self.lane, waiter),
            Stage::Outside | Stage::Returned => None,
        };
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
