//! Ten thousand reloads of a real component in a whole host, under random events. Nothing is lost, nothing is
//! acknowledged twice, the order of each object is kept, nothing is listed again, and the neighbour plugin is not
//! affected.
//!
//! A reload counts when a new instance of the requested version is in service. Versions that refuse to start are
//! tried too, but they do not count. Compiled code comes from the cache. Everything else is as in production: the
//! file is written, read and compared, the new version is started beside the old one and promoted, and the old
//! version is stopped.
//!
//! The effect on the neighbour is counted, not timed. The two plugins meet in one place: the turnstile of the guests'
//! threads, where all code of a plugin takes a turn: its calls, and the start, the stop and the return of a version.
//! A turn is a call or a part of a call. The turnstile counts, under its lock, the turns of other plugins between the
//! moment when a call has to wait and the moment when it gets its turn. For the neighbour this is at most one, for
//! any number of workers and reloads of the other plugin. Reloads that never end show that the neighbour waits for no
//! other part of a reload: see `while_a_version_...`.

mod coalescing;
mod events;
mod script;
mod stage;

use std::{
    ops::AddAssign,
    time::{SystemTime, UNIX_EPOCH},
};

use informer_tests::host::PATIENCE;
use parking_lot::Mutex;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tokio::{runtime::Runtime, time::timeout};

use script::Step;
use stage::{Mood, Stage};

/// The number of scripts, and the number of versions that are promoted in each by a change of the configuration:
/// 10,000 in all.
const SCRIPTS: u32 = 20;
const RELOADS: usize = 500;

/// The results of the scripts.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Versions that were promoted because the configuration or the component changed.
    in_force: u64,
    /// Versions that were refused.
    refused: u64,
    /// Returns to the last good version.
    went_back: u64,
    /// Notifications that the two plugins acknowledged.
    acknowledged: u64,
    /// How often the neighbour waited for its turn.
    neighbour_waited: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.in_force += other.in_force;
        self.refused += other.refused;
        self.went_back += other.went_back;
        self.acknowledged += other.acknowledged;
        self.neighbour_waited += other.neighbour_waited;
    }
}

async fn play(steps: &[Step]) -> Tally {
    let mut stage = Stage::new(Mood::Well).await;
    for step in steps {
        match step {
            Step::Events { first, count } => stage.events(*first, *count).await,
            Step::Configuration { mood, workers } => stage.reload(*mood, *workers).await,
            Step::Component => stage.replace_component().await,
            Step::Pause => tokio::task::yield_now().await,
        }
    }
    stage.reload(Mood::Well, 4).await;
    stage.settled().await;
    stage.assert_nothing_lost_nothing_repeated_and_in_order();
    stage.end().await
}

/// The value of a variable of the environment, with the names that proptest uses.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// Plays `scripts` scripts one after the other.
fn storm(scripts: u32, seed: u64) -> Tally {
    let config = Config {
        cases: scripts,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        // Failures depend on timing too. The first failure is worth printing; the seed covers the rest.
        max_shrink_iters: variable("PROPTEST_MAX_SHRINK_ITERS")
            .map_or(4, |most| u32::try_from(most).unwrap()),
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let runtime = Runtime::new().unwrap();
    let tally = Mutex::new(Tally::default());
    let result = TestRunner::new(config).run(&script::script(RELOADS), |steps| {
        let came_of_it = runtime.block_on(play(&steps));
        *tally.lock() += came_of_it;
        Ok(())
    });
    if let Err(failure) = result {
        panic!("PROPTEST_RNG_SEED={seed}: {failure}");
    }
    tally.into_inner()
}

#[test]
fn ten_thousand_reloads_lose_nothing_repeat_nothing_and_relist_nothing() {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = variable("PROPTEST_RNG_SEED").unwrap_or_else(clock);
    let scripts = variable("PROPTEST_CASES").map_or(SCRIPTS, |cases| u32::try_from(cases).unwrap());
    println!("{scripts} scripts of {RELOADS} reloads, PROPTEST_RNG_SEED={seed}");
    // Two hosts run at a time: a reload waits longer than it computes.
    let tally = std::thread::scope(|scope| {
        let other = scope.spawn(|| storm(scripts / 2, seed.wrapping_add(1)));
        let mut tally = storm(scripts.div_ceil(2), seed);
        tally += other.join().unwrap();
        tally
    });
    println!("{tally:?}");
    let wanted = u64::from(scripts) * RELOADS as u64;
    assert!(tally.in_force >= wanted, "{wanted} reloads have to come into force: {tally:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_version_sleeps_in_its_start_the_old_version_and_the_neighbour_keep_working() {
    goes_on_during_a_start(Mood::StartsSlowly).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_version_spins_in_its_start_the_old_version_and_the_neighbour_keep_working() {
    goes_on_during_a_start(Mood::SpinsInStart).await;
}

/// The reload does not end before every call was made, so no call waited for the reload.
async fn goes_on_during_a_start(mood: Mood) {
    let mut stage = Stage::new(Mood::Well).await;
    let reloading = stage.reload_without_end(mood).await;

    stage.events(0, 4).await;
    timeout(PATIENCE, stage.settled()).await.unwrap();

    assert!(!reloading.is_finished(), "the reload ended before the calls were made");
    stage.assert_nothing_lost_nothing_repeated_and_in_order();
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_traps_in_its_calls_is_rolled_back_and_nothing_is_given_up() {
    let mut stage = Stage::new(Mood::Well).await;
    stage.reload(Mood::Traps, 1).await;

    stage.events(0, 3).await;
    stage.settled().await;

    let refused = stage.refused();
    assert!(refused.contains("5 of its first 5 calls failed, the last with trap: "), "{refused}");
    stage.assert_nothing_lost_nothing_repeated_and_in_order();
    assert_eq!(stage.end().await.went_back, 1);
}
