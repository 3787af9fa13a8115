use std::num::{NonZeroU32, NonZeroUsize};

use informer_dispatch::{
    QuarantineConfig,
    workqueue::{RateLimiter, Work},
};
use informer_types::{Failure, FailureKind};

use super::*;

/// A wall clock that the test sets, in seconds since 1970.
#[derive(Default)]
struct Clock(Mutex<u64>);

impl WallClock for Clock {
    fn now(&self) -> Duration {
        Duration::from_secs(*self.0.lock())
    }
}

struct World {
    queue: RateLimitingQueue,
    timers: Timers,
    clock: Arc<Clock>,
}

impl World {
    fn new(configured: &[Timer]) -> Self {
        let limiter = RateLimiter::exponential(Duration::from_secs(1), Duration::from_secs(1));
        let queue = RateLimitingQueue::new(NonZeroUsize::new(2).unwrap(), limiter);
        queue.stop_clock();
        let clock = Arc::new(Clock::default());
        let timers = Timers::new(queue.clone(), Some(Arc::clone(&clock) as _));
        timers.set_configured(configured);
        Self { queue, timers, clock }
    }

    /// Lets time pass on both clocks. Returns the timers that fire, in their order.
    fn pass(&self, seconds: u64) -> Vec<String> {
        let mut fired = Vec::new();
        for _ in 0..seconds {
            *self.clock.0.lock() += 1;
            self.queue.advance(Duration::from_secs(1));
            while let Some(work) = self.queue.take() {
                let Ok(Signal::Timer(name)) = work.key().parse() else { panic!("{}", work.key()) };
                if self.timers.begin(&name, work.attempt()) {
                    fired.push(name.to_string());
                    self.timers.end(&name);
                    work.succeed();
                }
            }
        }
        fired
    }
}

fn every(name: &str, seconds: u64) -> Timer {
    Timer { name: name.to_owned(), schedule: Schedule::Every(Duration::from_secs(seconds)) }
}

fn cron(name: &str, text: &str) -> Timer {
    Timer { name: name.to_owned(), schedule: Schedule::Cron(text.parse().unwrap()) }
}

#[test]
fn a_timer_with_a_period_fires_each_time_that_the_period_has_passed() {
    let world = World::new(&[every("fast", 2), every("slow", 5)]);

    assert_eq!(world.pass(6), ["fast", "fast", "slow", "fast"]);
}

#[test]
fn a_timer_with_a_cron_expression_fires_at_its_times_and_not_when_a_wait_ends_before() {
    let world = World::new(&[cron("nightly", "0 3 * * *")]);

    assert!(world.pass(3 * 60 * 60 - 1).is_empty());
    assert_eq!(world.pass(1), ["nightly"]);
    assert!(world.pass(24 * 60 * 60 - 1).is_empty());
    assert_eq!(world.pass(1), ["nightly"]);
}

#[test]
fn a_jump_of_the_wall_clock_takes_effect_within_ten_minutes() {
    let world = World::new(&[cron("nightly", "0 3 * * *")]);
    world.pass(1);

    *world.clock.0.lock() = 4 * 60 * 60;
    assert_eq!(world.pass(10 * 60), ["nightly"]);
    // Back by two hours: the same time comes again.
    *world.clock.0.lock() = 2 * 60 * 60;
    assert_eq!(world.pass(60 * 60), ["nightly"]);
}

/// As on a host that stood by for a day and begins to lead: the leader before made the calls.
#[test]
fn a_timer_that_begins_anew_does_not_fire_for_a_time_that_has_passed() {
    let world = World::new(&[cron("nightly", "0 3 * * *"), every("often", 60)]);
    world.queue.pause();
    assert!(world.pass(24 * 60 * 60).is_empty());

    world.timers.restart();
    world.queue.resume();

    assert!(world.pass(59).is_empty());
    assert_eq!(world.pass(1), ["often"]);
    world.timers.set_configured(&[cron("nightly", "0 3 * * *")]);
    assert!(world.pass(3 * 60 * 60 - 61).is_empty());
    assert_eq!(world.pass(1), ["nightly"]);
}

/// The first call of the timer `nightly`.
fn first_night(world: &World) -> Work {
    world.pass(3 * 60 * 60 - 1);
    *world.clock.0.lock() += 1;
    world.queue.advance(Duration::from_secs(1));
    let work = world.queue.take().unwrap();
    assert!(world.timers.begin("nightly", work.attempt()));
    work
}

fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, "no")
}

/// A repetition of a failed call is made even if it falls between two times.
#[test]
fn a_failed_call_of_a_timer_is_repeated_before_its_next_time() {
    let world = World::new(&[cron("nightly", "0 3 * * *")]);
    first_night(&world).retry(&failure(FailureKind::Handler));

    assert_eq!(world.pass(2), ["nightly"]);
    assert!(world.pass(60).is_empty());
}

/// A call that begins a quarantine, or fails in it, does not count as an attempt. It is not lost either.
#[test]
fn a_call_of_a_timer_that_a_quarantine_spares_is_repeated_before_its_next_time() {
    let world = World::new(&[cron("nightly", "0 3 * * *")]);
    let after = NonZeroU32::new(1);
    world.queue.set_quarantine(QuarantineConfig { after, ..QuarantineConfig::default() });
    first_night(&world).fail(&failure(FailureKind::Trap), false);

    assert_eq!(world.pass(2), ["nightly"], "the probe");
    assert!(world.pass(20 * 60).is_empty());
}

#[test]
fn a_call_of_a_timer_that_became_a_dead_letter_is_not_repeated_before_its_next_time() {
    let world = World::new(&[cron("nightly", "0 3 * * *")]);
    first_night(&world).fail(&failure(FailureKind::Handler), true);

    assert!(world.pass(24 * 60 * 60 - 1).is_empty());
    assert_eq!(world.queue.stats().dropped_keys, 1, "the end of a wait is no call that succeeded");
    assert_eq!(world.pass(1), ["nightly"]);
    assert_eq!((world.queue.stats().dropped_keys, world.queue.stats().succeeded), (0, 1));
}

#[test]
fn a_dead_letter_of_a_timer_that_is_not_due_is_replayed_at_once() {
    let world = World::new(&[cron("nightly", "0 3 * * *")]);
    first_night(&world).fail(&failure(FailureKind::Handler), true);

    world.timers.repeat("nightly").unwrap();

    assert_eq!(world.pass(1), ["nightly"]);
    assert_eq!(world.queue.stats().dropped_keys, 0);
    assert!(world.pass(60 * 60).is_empty());
}

/// Only a call can end a quarantine.
#[test]
fn a_wait_that_ends_before_a_timer_is_due_ends_no_quarantine() {
    let world = World::new(&[cron("nightly", "0 3 * * *")]);
    let after = NonZeroU32::new(1);
    world.queue.set_quarantine(QuarantineConfig { after, ..QuarantineConfig::default() });
    world.queue.raise("timer broken").unwrap();
    world.queue.take().unwrap().fail(&failure(FailureKind::Trap), false);
    world.queue.cancel("timer broken");

    assert!(world.pass(20 * 60).is_empty());

    assert!(world.queue.stats().quarantine.is_some());
    assert_eq!((world.queue.stats().succeeded, world.queue.stats().given_back), (0, 0));
}

#[test]
fn another_configuration_changes_only_the_timers_that_differ() {
    let world = World::new(&[every("kept", 5), every("changed", 5), every("removed", 5)]);
    world.pass(4);

    world.timers.set_configured(&[every("kept", 5), every("changed", 3), every("new", 1)]);

    assert_eq!(world.pass(3), ["kept", "new", "new", "changed", "new"].map(str::to_owned));
}

#[test]
fn a_timer_of_the_plugin_fires_once_at_its_newest_time_unless_it_is_cancelled() {
    let world = World::new(&[every("configured", 1000)]);
    for (name, seconds) in [("a", 1), ("b", 2), ("a", 3)] {
        world.timers.set(name, Duration::from_secs(seconds)).unwrap();
    }
    assert_eq!(world.timers.set("c", Duration::ZERO), Err(TimerError::TooMany { most: 2 }));
    for name in ["configured", "", &"x".repeat(513)] {
        assert!(matches!(world.timers.set(name, Duration::ZERO), Err(TimerError::Name(_))), "{name}");
        world.timers.cancel(name);
    }

    assert_eq!(world.pass(3), ["b", "a"]);
    world.timers.set("c", Duration::from_secs(1)).unwrap();
    world.timers.cancel("c");
    assert!(world.pass(900).is_empty());
    assert_eq!(world.pass(100), ["configured"]);
}
