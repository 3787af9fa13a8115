//! The properties, 10,400 scripts unless told otherwise.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use informer_cache::Counters;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, RngSeed, TestRunner};

use crate::{
    script::Script,
    strategy::{Weights, script},
    world::play,
};

/// For each property.
const SCRIPTS: u32 = 2_600;

/// Plays random scripts; the seed is printed, so that the same ones can be played again.
fn any_script(weights: Weights) {
    let number = |name| std::env::var(name).ok().map(|value| value.parse::<u64>().expect(name));
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number("PROPTEST_RNG_SEED").unwrap_or_else(clock);
    let cases = number("PROPTEST_CASES").map_or(SCRIPTS, |cases| u32::try_from(cases).unwrap());
    println!("{cases} scripts, PROPTEST_RNG_SEED={seed}");
    let persistence = FileFailurePersistence::Direct("tests/scripts/proptest-regressions.txt");
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        // Unoptimised, the default takes a third of the time.
        rng_algorithm: RngAlgorithm::XorShift,
        failure_persistence: Some(Box::new(persistence)),
        source_file: Some(file!()),
        ..Config::default()
    };
    let reach = RefCell::new(Reach::new());
    let result = TestRunner::new(config).run(&script(weights), |script: Script| {
        note(&play(&script), &mut reach.borrow_mut());
        Ok(())
    });
    if let Err(failure) = result {
        panic!("PROPTEST_RNG_SEED={seed}: {failure}");
    }
    for (what, times) in reach.into_inner() {
        println!("{what}: {times}");
        assert!(times > 0 || cases < SCRIPTS, "no script leads to {what}");
    }
}

/// How often something happened, over all scripts.
type Reach = BTreeMap<&'static str, u64>;

/// Scripts that lead nowhere prove nothing.
fn note(counters: &Counters, reach: &mut Reach) {
    for (what, times) in [
        ("relists", counters.relists),
        ("events", counters.events),
        ("bookmarks", counters.bookmarks),
        ("failures", counters.failures),
        ("foreign objects", counters.skipped),
        ("quarantine", counters.quarantined),
        ("silent watches", counters.silent_watches),
        ("unchanged objects", counters.suppressed_unchanged),
        ("a resource that vanished", counters.vanished),
    ] {
        *reach.entry(what).or_default() += times;
    }
}

/// Scenario 72.
#[test]
fn any_changes_on_any_connections_leave_cache_and_listeners_with_the_final_state_c17_c14() {
    any_script(Weights { changes: 20, connections: 10, requests: 2, listeners: 1 });
}

#[test]
fn any_failures_of_requests_leave_cache_and_listeners_with_the_final_state_c17_r16_r21() {
    any_script(Weights { changes: 10, connections: 6, requests: 10, listeners: 1 });
}

/// Scenario 81.
#[test]
fn whenever_listeners_join_and_leave_they_miss_nothing_and_hear_nothing_twice_c10_p11_p14() {
    any_script(Weights { changes: 12, connections: 4, requests: 2, listeners: 12 });
}

#[test]
fn anything_at_once_leaves_cache_and_listeners_with_the_final_state_c17() {
    any_script(Weights { changes: 10, connections: 10, requests: 10, listeners: 5 });
}
