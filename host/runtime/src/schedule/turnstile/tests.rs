use std::{
    sync::atomic::{AtomicUsize, Ordering},
    task::Wake,
};

use proptest::prelude::*;

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
}

impl Guest {
    fn enters(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.turn.poll_enter(&mut Context::from_waker(&waker)).is_ready()
    }

    fn woken(&self) -> usize {
        self.woken.0.load(Ordering::Relaxed)
    }
}

fn turnstile(turns: usize) -> Arc<Turnstile> {
    Arc::new(Turnstile::new(NonZeroUsize::new(turns).unwrap()))
}

fn plugin<const N: usize>(turnstile: &Arc<Turnstile>) -> [Guest; N] {
    let lane = turnstile.open();
    std::array::from_fn(|_| Guest { turn: Turn::new(turnstile, lane), woken: Arc::default() })
}

/// A plugin that has the only turn, and ran for so long before without anybody else.
fn spinning<const N: usize>(turnstile: &Arc<Turnstile>, ran: Duration) -> [Guest; N] {
    let mut guests = plugin(turnstile);
    assert!(guests[0].enters());
    guests[0].turn.leave(ran);
    assert!(guests[0].enters());
    guests
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
fn a_plugin_that_ran_less_runs_beside_until_it_has_caught_up() {
    let turnstile = turnstile(1);
    let mut spinning: [Guest; 2] = spinning(&turnstile, 3 * TURN);
    assert!(!spinning[1].enters(), "there is one turn");
    let [mut brief] = plugin(&turnstile);

    for call in 1..=9 {
        assert!(brief.enters(), "{call} quarters of a turn are less than three by a turn");
        brief.turn.leave(TURN / 4);
    }

    assert!(!brief.enters(), "three quarters are less than a turn");
    spinning[0].turn.leave(TURN);
    assert_eq!((spinning[1].woken(), brief.woken()), (1, 0), "that one waits longer");
}

#[test]
fn a_turn_that_ends_while_one_runs_beside_is_given_on_when_that_one_has_ended() {
    let turnstile = turnstile(1);
    let mut spinning: [Guest; 2] = spinning(&turnstile, 3 * TURN);
    assert!(!spinning[1].enters());
    let [mut brief] = plugin(&turnstile);
    assert!(brief.enters());

    spinning[0].turn.interrupt(TURN);
    assert!(!spinning[0].turn.is_wanted(), "it used most");
    assert!(!spinning[0].enters());
    assert_eq!(spinning[1].woken(), 0);
    brief.turn.leave(TURN);

    assert_eq!((spinning[1].woken(), spinning[0].woken()), (1, 0));
}

#[test]
fn the_tick_does_not_take_the_turn_from_a_plugin_that_is_behind() {
    let turnstile = turnstile(1);
    let [mut spinning] = spinning(&turnstile, 4 * TURN);
    let [mut works] = plugin(&turnstile);
    assert!(works.enters());
    works.turn.interrupt(TURN);
    assert!(!works.turn.is_wanted(), "only a turn can be kept");
    assert!(works.enters(), "it runs beside once more");
    spinning.turn.interrupt(TURN);
    assert!(!spinning.enters());

    works.turn.interrupt(TURN);
    assert!(works.turn.is_wanted() && works.enters(), "it used two of four");
    works.turn.interrupt(TURN);
    assert!(works.turn.is_wanted() && works.enters(), "three of four");
    works.turn.interrupt(TURN);

    assert!(!works.turn.is_wanted(), "four of four");
    assert_eq!(spinning.woken(), 1);
    assert_eq!(turnstile.let_pass(spinning.turn.lane), 2, "what it keeps is counted as a turn");
}

#[test]
fn one_runs_beside_at_a_time_and_one_of_a_plugin() {
    let turnstile = turnstile(1);
    let [_spinning] = spinning(&turnstile, 9 * TURN);
    let mut works: [Guest; 2] = plugin(&turnstile);
    let [mut other] = plugin(&turnstile);

    assert!(works[0].enters());

    assert!(!works[1].enters() && !other.enters());
}

#[test]
fn a_guest_of_a_plugin_that_is_behind_makes_room_for_the_next_one_of_it() {
    let turnstile = turnstile(1);
    let mut works: [Guest; 2] = plugin(&turnstile);
    let [spinning] = spinning(&turnstile, 9 * TURN);
    drop(spinning);
    assert!(works[0].enters());
    assert!(!works[1].enters());

    works[0].turn.interrupt(TURN);

    assert!(!works[0].turn.is_wanted());
    assert_eq!(works[1].woken(), 1);
}

#[test]
fn what_a_plugin_saves_is_limited() {
    let turnstile = turnstile(1);
    let [_spinning] = spinning(&turnstile, 1000 * TURN);
    let [mut works] = plugin(&turnstile);

    let ran = (0..).take_while(|_| {
        let enters = works.enters();
        works.turn.leave(TURN);
        enters
    });

    assert_eq!(ran.count() as u32, SAVED.div_duration_f64(TURN) as u32);
}

#[test]
fn a_slice_that_could_not_be_interrupted_is_charged_as_a_whole() {
    let turnstile = turnstile(1);
    let [mut spinning] = spinning(&turnstile, Duration::ZERO);
    let [mut works] = plugin(&turnstile);
    assert!(!works.enters());
    spinning.turn.leave(4 * TURN);
    assert!(works.enters());
    assert!(!spinning.enters());
    works.turn.leave(TURN / 2);
    assert_eq!(spinning.woken(), 1);
    assert!(spinning.enters());

    for _ in 0..3 {
        assert!(works.enters(), "it is behind by three turns and more");
        works.turn.leave(TURN);
    }

    assert!(!works.enters());
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

/// What one guest does next.
#[derive(Clone, Copy, Debug)]
enum Act {
    Enters,
    IsInterrupted,
    Leaves,
    IsGone,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A guest that sleeps on a turn nobody gives it would never run again, and a turn that is given twice would never end.
    #[test]
    fn whatever_guests_do_turns_are_kept_count_of_and_nobody_waits_while_one_is_free(
        turns in 1..4_usize,
        acts in prop::collection::vec(
            (0..4_usize, 0..3_usize, prop_oneof![Just(Act::Enters), Just(Act::IsInterrupted), Just(Act::Leaves), Just(Act::IsGone)], 0..4_u32),
            1..200,
        ),
    ) {
        let turnstile = turnstile(turns);
        let mut plugins: [[Guest; 3]; 4] = std::array::from_fn(|_| plugin(&turnstile));
        for (plugin, guest, act, took) in acts {
            let guest = &mut plugins[plugin][guest];
            match act {
                Act::Enters => drop(guest.enters()),
                Act::IsInterrupted if guest.turn.stage == Stage::Holding => guest.turn.interrupt(TURN * took),
                Act::Leaves => guest.turn.leave(TURN * took),
                Act::IsGone => guest.turn = Turn::new(&turnstile, guest.turn.lane),
                Act::IsInterrupted => {}
            }
            // Those that were called take their turn, as their task does once it is woken.
            let woken = |guest: &Guest| matches!(guest.turn.stage, Stage::Waiting(waiter) if matches!(turnstile.0.lock().waiters[waiter], Waiter::Called));
            for guest in plugins.iter_mut().flatten().filter(|guest| woken(guest)) {
                prop_assert!(guest.enters());
            }
            let (mut holding, mut waiting) = (0, 0);
            for guest in plugins.iter().flatten() {
                holding += usize::from(guest.turn.stage == Stage::Holding);
                waiting += usize::from(matches!(guest.turn.stage, Stage::Waiting(_)));
            }
            let state = turnstile.0.lock();
            prop_assert_eq!(turns.cast_signed() - holding.cast_signed(), state.free);
            prop_assert!(holding <= turns + BESIDE);
            prop_assert!(waiting == 0 || state.free <= 0);
            prop_assert_eq!(state.clock.running, holding);
            prop_assert_eq!(state.circle.is_empty(), waiting == 0);
        }
    }
}
