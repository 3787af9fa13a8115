use std::{
    sync::atomic::{AtomicUsize, Ordering},
    task::Wake,
};

use super::*;

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// One instance of a plugin.
struct Guest {
    turn: Turn,
    woken: Arc<Woken>,
    /// One moment for all: nothing is renewed.
    now: Instant,
}

impl Guest {
    fn enters(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.turn.poll_enter(&mut Context::from_waker(&waker), self.now).is_ready()
    }

    fn woken(&self) -> usize {
        self.woken.0.load(Ordering::Relaxed)
    }
}

fn turnstile(turns: usize) -> Arc<Turnstile> {
    Arc::new(Turnstile::new(NonZeroUsize::new(turns).unwrap()))
}

fn plugin<const N: usize>(turnstile: &Arc<Turnstile>) -> [Guest; N] {
    let (lane, now) = (turnstile.open(), Instant::now());
    // What it has without waiting is used up.
    turnstile.0.lock().lanes[lane].renewed = Some(now);
    std::array::from_fn(|_| Guest { turn: Turn::new(turnstile, lane), woken: Arc::default(), now })
}

#[test]
fn as_many_run_as_there_are_turns() {
    let turnstile = turnstile(2);
    let [mut first, mut second, mut third] = plugin(&turnstile);

    assert!(first.enters() && second.enters());
    assert!(!third.enters());
    first.turn.leave(TURN);

    assert_eq!(third.woken(), 1);
    assert!(third.enters());
}

#[test]
fn a_plugin_with_one_guest_comes_next_whatever_another_has_waiting() {
    let turnstile = turnstile(1);
    let mut crowd: [Guest; 8] = plugin(&turnstile);
    let [mut single] = plugin(&turnstile);
    let entered: Vec<bool> = crowd.iter_mut().map(Guest::enters).collect();
    assert_eq!(entered, [true, false, false, false, false, false, false, false]);
    assert!(!single.enters());

    crowd[0].turn.leave(TURN);
    // The crowd came first, so one more of it; then the other plugin.
    assert!(crowd[1].enters() && !crowd[0].enters());
    crowd[1].turn.leave(TURN);

    assert_eq!(single.woken(), 1);
    assert!(single.enters());
    assert_eq!(turnstile.let_pass(single.turn.lane), 1);
}

#[test]
fn plugins_take_turns_and_their_guests_the_order_they_came_in() {
    let turnstile = turnstile(1);
    let mut a: [Guest; 2] = plugin(&turnstile);
    let mut b: [Guest; 2] = plugin(&turnstile);
    assert!(a[0].enters());
    assert!(!a[1].enters() && !b[0].enters() && !b[1].enters());

    let mut order = Vec::new();
    a[0].turn.leave(TURN);
    for _ in 0..3 {
        for (name, guest) in ["a1", "b0", "b1"].into_iter().zip([1, 2, 3]) {
            let guest = match guest {
                1 => &mut a[1],
                2 => &mut b[0],
                _ => &mut b[1],
            };
            if guest.woken() == 1 && !order.contains(&name) {
                assert!(guest.enters());
                order.push(name);
                guest.turn.leave(TURN);
            }
        }
    }

    assert_eq!(order, ["a1", "b0", "b1"]);
}

#[test]
fn what_is_left_of_a_turn_is_used_without_waiting_by_one_guest() {
    let turnstile = turnstile(1);
    let [mut spinning] = plugin(&turnstile);
    let mut brief: [Guest; 2] = plugin(&turnstile);
    assert!(brief[0].enters());
    assert!(!spinning.enters());
    brief[0].turn.leave(TURN / 4);
    assert!(spinning.enters());

    assert!(brief[0].enters(), "three quarters are left");
    assert!(!brief[1].enters(), "for one guest");
    brief[0].turn.leave(TURN);

    assert!(!brief[0].enters(), "nothing is left");
    spinning.turn.leave(TURN);
    assert_eq!((brief[1].woken(), brief[0].woken()), (1, 0));
}

#[test]
fn a_plugin_that_runs_little_never_waits() {
    let turnstile = turnstile(1);
    let [mut spinning] = plugin(&turnstile);
    let [mut brief] = plugin(&turnstile);
    assert!(spinning.enters());

    for _ in 0..3 {
        brief.now += RENEWAL;
        assert!(brief.enters());
        brief.turn.leave(TURN);
    }

    brief.now += RENEWAL / 2;
    assert!(!brief.enters(), "once each time");
}

#[test]
fn a_guest_that_is_gone_keeps_nobody_waiting() {
    let turnstile = turnstile(1);
    let [mut running] = plugin(&turnstile);
    let [mut called, mut waiting, mut last] = plugin(&turnstile);
    assert!(running.enters());
    assert!(!called.enters() && !waiting.enters() && !last.enters());

    running.turn.leave(TURN);
    assert_eq!(called.woken(), 1);
    // One has a turn and never takes it, one waits.
    drop(waiting);
    drop(called);

    assert_eq!(last.woken(), 1);
    assert!(last.enters());
    drop(last);
    assert!(running.enters(), "the turn of one that ran is free again");
}

#[test]
fn the_clock_stands_still_while_nobody_runs() {
    let turnstile = turnstile(1);
    let [mut guest] = plugin(&turnstile);
    turnstile.set_clock(std::thread::current());

    assert!(guest.enters());
    assert!((0..2 * RESTLESS_TICKS).all(|_| !turnstile.may_rest()), "somebody runs");
    guest.turn.leave(TURN);
    let ticks = (1..).find(|_| turnstile.may_rest()).unwrap();
    assert_eq!(ticks, RESTLESS_TICKS);

    assert!(guest.enters());
    std::thread::park();
    assert!(!turnstile.may_rest(), "and goes on when somebody runs again");
}
