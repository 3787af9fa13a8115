//! Ten thousand reloads of real components under random events: nothing is lost, nothing is acknowledged twice, the
//! order of each object is kept, and the neighbour does not notice.
//!
//! Events come as an informer tells them, straight into the queue: a reload does not reach further up, which the other
//! tests of this module show with a whole host (no relist).

mod stage;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed, TestRunner},
};
use tokio::{runtime::Runtime, time::timeout};

use stage::{Mood, Stage};

/// Scripts, and reloads in each: 10,000 in all.
const SCRIPTS: u32 = 20;
const RELOADS: usize = 500;

/// Longer than any script takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    /// Something happens to this many objects, from this one on.
    Events { first: usize, count: usize },
    /// A new version takes over, or does not.
    Reload(Mood),
    /// The workers of the plugin change.
    Workers(usize),
    /// As many calls are made as are made meanwhile.
    Pause,
}

fn mood() -> impl Strategy<Value = Mood> {
    prop_oneof![
        5 => Just(Mood::Well),
        2 => Just(Mood::Slow),
        2 => Just(Mood::Traps),
        2 => Just(Mood::TrapsInStart),
        2 => Just(Mood::Refuses),
    ]
}

/// Other steps before each reload.
fn script() -> impl Strategy<Value = Vec<Step>> {
    let between = prop_oneof![
        6 => (0..stage::OBJECTS, 1_usize..6).prop_map(|(first, count)| Step::Events { first, count }),
        1 => (1_usize..=8).prop_map(Step::Workers),
        2 => Just(Step::Pause),
    ];
    let round = (prop::collection::vec(between, 0..3), mood());
    prop::collection::vec(round, RELOADS).prop_map(|rounds| {
        let steps = rounds.into_iter().map(|(mut steps, mood)| {
            steps.push(Step::Reload(mood));
            steps
        });
        steps.flatten().collect()
    })
}

async fn play(steps: &[Step]) {
    let mut stage = Stage::new(1).await;
    for step in steps {
        match step {
            Step::Events { first, count } => stage.events(*first, *count),
            Step::Reload(mood) => stage.reload(*mood).await,
            Step::Workers(workers) => stage.workers(*workers),
            Step::Pause => tokio::task::yield_now().await,
        }
    }
    stage.reload(Mood::Well).await;
    let settled = timeout(PATIENCE, stage.settled()).await;
    assert!(settled.is_ok(), "what is left: {:?}", stage.left());
    stage.assert_nothing_lost_nothing_doubled_and_in_order();
    stage.end().await;
}

#[test]
fn ten_thousand_reloads_lose_nothing_and_double_nothing() {
    let number = |name| std::env::var(name).ok().map(|value| value.parse::<u64>().expect(name));
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number("PROPTEST_RNG_SEED").unwrap_or_else(clock);
    let cases = number("PROPTEST_CASES").map_or(SCRIPTS, |cases| u32::try_from(cases).unwrap());
    println!("{cases} scripts of {RELOADS} reloads, PROPTEST_RNG_SEED={seed}");
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let runtime = Runtime::new().unwrap();
    let result = TestRunner::new(config).run(&script(), |steps| {
        runtime.block_on(play(&steps));
        Ok(())
    });
    if let Err(failure) = result {
        panic!("PROPTEST_RNG_SEED={seed}: {failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_version_takes_long_to_start_the_one_in_service_and_the_neighbour_go_on() {
    let mut stage = Stage::new(2).await;
    let (plugin, said) = (stage.plugin(), stage.said_starting());
    let loading = tokio::spawn(async move { plugin.configure(stage::config(Mood::StartsSlowly, 1)).await });
    timeout(PATIENCE, said).await.unwrap();

    stage.events(0, 4);
    timeout(PATIENCE, stage.settled()).await.unwrap();

    assert!(!loading.is_finished(), "the calls were made while it was loading");
    loading.abort();
    stage.assert_nothing_lost_nothing_doubled_and_in_order();
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_traps_in_its_calls_is_returned_from_and_nothing_is_given_up() {
    let mut stage = Stage::new(1).await;
    stage.reload(Mood::Traps).await;

    stage.events(0, 3);
    timeout(PATIENCE, stage.settled()).await.unwrap();

    let rejected = stage.plugin().rejected().unwrap();
    assert!(rejected.why.starts_with("5 of its first 5 calls failed, the last with trap: "), "{rejected:?}");
    stage.assert_nothing_lost_nothing_doubled_and_in_order();
    stage.end().await;
}
