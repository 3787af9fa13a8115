use std::{
    sync::atomic::{AtomicUsize, Ordering},
    task::Wake,
};

use proptest::prelude::*;

use super::*;

/// Counts wake-ups.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// One guest of a plugin.
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

/// A plugin that holds the only turn and ran alone for this long before.
fn spinning<const N: usize>(turnstile: &Arc<Turnstile>, ran: Duration) -> [Guest; N] {
    let mut guests = plugin(turnstile);
    assert!(guests[0].enters());
    guests[0].turn.leave(ran);
    assert!(guests[0].enters());
    guests
}

#[test]
fn at_most_as_many_guests_run_as_there_are_turns() {
    let turnstile = turnstile(2);
    let [mut first, mut second, mut third] = plugin(&turnstile);

    assert!(first.enters() && second.enters());
    assert!(!third.enters());
    first.turn.leave(TURN);

    assert_eq!(third.woken(), 1);
    assert!(third.enters());
}

#[test]
fn the_single_guest_of_a_plugin_waits_for_one_turn_of_a_plugin_with_many_guests() {
    let turnstile = turnstile(1);
    let mut crowd: [Guest; 8] = plugin(&turnstile);
    let [mut single] = plugin(&turnstile);
    let entered: Vec<bool> = crowd.iter_mut().map(Guest::enters).collect();
    assert_eq!(entered, [true, false, false, false, false, false, false, false]);
    assert!(!single.enters());

    crowd[0].turn.leave(TURN);
    // The crowd's lane is first in the circle, then the other plugin's.
    assert!(crowd[1].enters() && !crowd[0].enters());
    crowd[1].turn.leave(TURN);

    assert_eq!(single.woken(), 1);
    assert!(single.enters());
    assert_eq!(turnstile.let_pass(single.turn.lane), 1);
}

#[test]
fn turns_go_round_the_plugins_and_guests_of_one_plugin_are_served_in_order() {
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
fn a_plugin_that_is_behind_runs_an_extra_guest_until_it_has_caught_up() {
    let turnstile = turnstile(1);
    let mut spinning: [Guest; 2] = spinning(&turnstile, 3 * TURN);
    assert!(!spinning[1].enters(), "there is only one turn");
    let [mut brief] = plugin(&turnstile);

    for call in 1..=9 {
        assert!(brief.enters(), "{call} quarters of a turn are at least one turn less than three");
        brief.turn.leave(TURN / 4);
    }

    assert!(!brief.enters(), "it is behind by less than a turn");
    spinning[0].turn.leave(TURN);
    assert_eq!((spinning[1].woken(), brief.woken()), (1, 0), "the spinning plugin has waited longer");
}

#[test]
fn a_turn_that_ends_while_an_extra_guest_runs_is_given_on_after_that_guest() {
    let turnstile = turnstile(1);
    let mut spinning: [Guest; 2] = spinning(&turnstile, 3 * TURN);
    assert!(!spinning[1].enters());
    let [mut brief] = plugin(&turnstile);
    assert!(brief.enters());

    spinning[0].turn.interrupt(TURN);
    assert!(!spinning[0].turn.is_wanted(), "its plugin is not behind");
    assert!(!spinning[0].enters());
    assert_eq!(spinning[1].woken(), 0);
    brief.turn.leave(TURN);

    assert_eq!((spinning[1].woken(), spinning[0].woken()), (1, 0));
}

#[test]
fn a_tick_does_not_end_the_turn_of_a_plugin_that_is_behind() {
    let turnstile = turnstile(1);
    let [mut spinning] = spinning(&turnstile, 4 * TURN);
    let [mut works] = plugin(&turnstile);
    assert!(works.enters());
    works.turn.interrupt(TURN);
    assert!(!works.turn.is_wanted(), "an extra guest has no turn to keep");
    assert!(works.enters(), "it runs as an extra guest again");
    spinning.turn.interrupt(TURN);
    assert!(!spinning.enters());

    works.turn.interrupt(TURN);
    assert!(works.turn.is_wanted() && works.enters(), "it used two turns of four");
    works.turn.interrupt(TURN);
    assert!(works.turn.is_wanted() && works.enters(), "it used three turns of four");
    works.turn.interrupt(TURN);

    assert!(!works.turn.is_wanted(), "it used four turns of four");
    assert_eq!(spinning.woken(), 1);
    assert_eq!(turnstile.let_pass(spinning.turn.lane), 0, "a turn that is kept is not given");
}

#[test]
fn at_most_one_extra_guest_runs() {
    let turnstile = turnstile(1);
    let [_spinning] = spinning(&turnstile, 9 * TURN);
    let mut works: [Guest; 2] = plugin(&turnstile);
    let [mut other] = plugin(&turnstile);

    assert!(works[0].enters());

    assert!(!works[1].enters() && !other.enters());
}

#[test]
fn a_guest_of_a_plugin_that_is_behind_yields_to_the_next_guest_of_its_plugin() {
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
fn the_time_that_a_plugin_can_be_behind_is_limited() {
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
fn a_slice_longer_than_a_turn_is_charged_in_full() {
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
        assert!(works.enters(), "it is behind by at least a turn");
        works.turn.leave(TURN);
    }

    assert!(!works.enters());
}

#[test]
fn a_guest_that_is_dropped_never_keeps_another_one_waiting() {
    let turnstile = turnstile(1);
    let [mut running] = plugin(&turnstile);
    let [mut called, mut waiting, mut last] = plugin(&turnstile);
    assert!(running.enters());
    assert!(!called.enters() && !waiting.enters() && !last.enters());

    running.turn.leave(TURN);
    assert_eq!(called.woken(), 1);
    // One guest was given a turn and never uses it, another one waits.
    drop(waiting);
    drop(called);

    assert_eq!(last.woken(), 1);
    assert!(last.enters());
    drop(last);
    assert!(running.enters(), "the turn of a dropped guest is free again");
}

#[test]
fn the_clock_rests_while_no_guest_runs() {
    let turnstile = turnstile(1);
    let [mut guest] = plugin(&turnstile);
    turnstile.set_clock(std::thread::current());

    assert!(guest.enters());
    assert!((0..2 * RESTLESS_TICKS).all(|_| !turnstile.may_rest()), "a guest runs");
    guest.turn.leave(TURN);
    let ticks = (1..).find(|_| turnstile.may_rest()).unwrap();
    assert_eq!(ticks, RESTLESS_TICKS);

    assert!(guest.enters());
    std::thread::park();
    assert!(!turnstile.may_rest(), "it ticks again when a guest runs");
}

/// The next action of a guest.
#[derive(Clone, Copy, Debug)]
enum Act {
    Enters,
    IsInterrupted,
    Leaves,
    IsGone,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A guest that misses its wake-up would never run again, and a turn that is given twice would never end.
    #[test]
    fn turns_always_add_up_and_no_guest_waits_while_one_is_free(
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
                Act::IsInterrupted if guest.turn.phase == Phase::Holding => guest.turn.interrupt(TURN * took),
                Act::Leaves => guest.turn.leave(TURN * took),
                Act::IsGone => guest.turn = Turn::new(&turnstile, guest.turn.lane),
                Act::IsInterrupted => {}
            }
            // Guests that were given a turn use it, as their task does once it is woken.
            let woken = |guest: &Guest| matches!(guest.turn.phase, Phase::Waiting(waiter) if matches!(turnstile.0.lock().waiters[waiter], Waiter::Called));
            for guest in plugins.iter_mut().flatten().filter(|guest| woken(guest)) {
                prop_assert!(guest.enters());
            }
            let (mut holding, mut waiting) = (0, 0);
            for guest in plugins.iter().flatten() {
                holding += usize::from(guest.turn.phase == Phase::Holding);
                waiting += usize::from(matches!(guest.turn.phase, Phase::Waiting(_)));
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
