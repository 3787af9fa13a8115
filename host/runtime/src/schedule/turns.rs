//! The work of one plugin, slice by slice.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    thread::yield_now,
    time::{Duration, Instant},
};

use tokio::{select, time::sleep};

use super::{
    call_clock::{begin_slice, ticked},
    lane::{Lane, Running},
    turnstile::{TURN, Turn},
};

thread_local! {
    /// How long slices ran on this thread since it last yielded to the operating system.
    static RAN: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Runs work of a plugin in turns: its calls, and the work of the host for them, such as making an instance and taking down
/// a failed one.
///
/// # Cancel safety
/// Dropping the future drops the work and gives its turn back. Always poll or drop the future: it may hold a turn.
pub(crate) async fn by_turns<T>(lane: &Lane, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let turn = Turn::new(&lane.turnstile, lane.number);
    let mut turns = Turns { lane, turn, waiting: None, throttled: None };
    poll_fn(|context| turns.poll(context, work.as_mut())).await
}

/// Lets the operating system run other threads whenever this thread has run guests for the time of a turn. Another thread may
/// wait for the processor, with a guest of a plugin that is behind or with work of the host. Without this it would wait for
/// several milliseconds, because a thread that goes from guest to guest never sleeps.
fn yield_thread(took: Duration) {
    let ran = RAN.get() + took;
    let is_over = ran >= TURN;
    RAN.set(if is_over { Duration::ZERO } else { ran });
    if is_over {
        yield_now();
    }
}

struct Turns<'a> {
    lane: &'a Lane,
    turn: Turn,
    /// Since when the work waits for its turn or its share. `None` if it does not.
    waiting: Option<Instant>,
    /// Completes when the plugin may run again. `None` if it is within its share.
    throttled: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

// === impl Turns ===

impl Turns<'_> {
    fn poll<T>(&mut self, context: &mut Context<'_>, work: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        let running = ready!(self.admitted(context));
        let polled = work.poll(context);
        let now = Instant::now();
        let took = self.lane.end(&running, now);
        if ticked() && polled.is_pending() {
            self.turn.interrupt(took);
            self.waiting = Some(now);
        } else {
            self.turn.leave(took);
        }
        if !self.turn.is_behind() {
            yield_thread(took);
        }
        polled
    }

    /// Ready once the plugin is within its share and the work has a turn.
    fn admitted(&mut self, context: &mut Context<'_>) -> Poll<Running> {
        let within_budget = self.within_budget(context).is_ready();
        if !within_budget && self.turn.is_wanted() {
            // The plugin has used up its share meanwhile. Give the turn back: work that holds a turn and sleeps would keep
            // all others from running.
            self.turn.leave(Duration::ZERO);
        }
        if !within_budget || self.turn_comes(context).is_pending() {
            self.waiting.get_or_insert_with(Instant::now);
            return Poll::Pending;
        }
        let now = Instant::now();
        let waiting = self.waiting.take();
        begin_slice(waiting.map_or(Duration::ZERO, |since| now.saturating_duration_since(since)));
        Poll::Ready(self.lane.begin(now))
    }

    fn within_budget(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(sleep) = &mut self.throttled {
                ready!(sleep.as_mut().poll(context));
                self.throttled = None;
            }
            let Some((budget, changed)) = self.lane.budget() else { return Poll::Ready(()) };
            let Some(wait) = budget.wait(Instant::now()) else { return Poll::Ready(()) };
            self.lane.counters.throttled.increment();
            self.lane.counters.throttled_time.add_duration(wait);
            self.throttled = Some(Box::pin(async move {
                select! {
                    biased;
                    () = changed => {}
                    () = sleep(wait) => {}
                }
            }));
        }
    }

    fn turn_comes(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let waited = self.turn.is_wanted();
        let entered = self.turn.poll_enter(context);
        if entered.is_pending() && !waited {
            self.lane.counters.turns_waited.increment();
        }
        entered
    }
}
