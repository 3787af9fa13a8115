//! Work for one plugin, slice by slice.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    thread::yield_now,
    time::{Duration, Instant},
};

use tokio::{select, time::sleep};

use super::{Lane, TURN, lane::Running, turnstile::Turn};

thread_local! {
    /// How long the slice that runs on this thread had to wait before it.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// Whether the epoch interrupted it.
    static TICKED: Cell<bool> = const { Cell::new(false) };
    /// How long slices took on this thread since it last made way.
    static RAN: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Does what a plugin wants done, by turns: its calls, and what they cost the host besides, such as making an instance and
/// taking a failed one down.
///
/// # Cancel safety
/// A dropped future gives its turn back; the work is gone.
pub(crate) async fn by_turns<T>(lane: &Lane, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let turn = Turn::new(&lane.turnstile, lane.number);
    let mut turns = Turns { lane, turn, waiting: None, throttled: None };
    poll_fn(|context| turns.poll(context, work.as_mut())).await
}

/// The epoch interrupted the guest that runs on this thread.
pub(crate) fn tick() {
    TICKED.set(true);
}

/// Whether it did, in this slice.
pub(super) fn ticked() -> bool {
    TICKED.get()
}

/// How long the slice that runs on this thread had to wait for its turn and its share; to be asked once.
pub(super) fn take_waited() -> Duration {
    WAITED.take()
}

/// Lets the operating system run other threads, after each turn that this one ran guests: some of them may wait for the
/// processor, with a guest of a plugin that is behind or with the host's own work. The operating system would let them wait for
/// several milliseconds, because a thread that goes from guest to guest never sleeps.
fn make_way(took: Duration) {
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
    /// Since when the host lets the work wait for its turn or its share.
    waiting: Option<Instant>,
    /// Until the plugin has a share again.
    throttled: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

// === impl Turns ===

impl Turns<'_> {
    fn poll<T>(&mut self, context: &mut Context<'_>, work: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        let running = ready!(self.admitted(context));
        TICKED.set(false);
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
            make_way(took);
        }
        polled
    }

    /// Ready once the plugin has a share left and it is this call's turn.
    fn admitted(&mut self, context: &mut Context<'_>) -> Poll<Running> {
        let within_budget = self.within_budget(context).is_ready();
        if !within_budget && self.turn.is_wanted() {
            // The plugin has used up its share meanwhile. The turn may have come: whoever sleeps on it
            // keeps everybody from running.
            self.turn.leave(Duration::ZERO);
        }
        if !within_budget || self.turn_comes(context).is_pending() {
            self.waiting.get_or_insert_with(Instant::now);
            return Poll::Pending;
        }
        let now = Instant::now();
        let waiting = self.waiting.take();
        WAITED.set(waiting.map_or(Duration::ZERO, |since| now.saturating_duration_since(since)));
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
            self.lane.counters.throttled(wait);
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
            self.lane.counters.waited_for_turn();
        }
        entered
    }
}
