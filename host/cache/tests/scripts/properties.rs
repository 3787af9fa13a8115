//! The properties: 10,400 scripts by default.

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

/// The number of scripts for each property.
const SCRIPTS: u32 = 2_600;

/// Plays random scripts and prints the seed, so that the same scripts can be played again.
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
        // Without optimisation, the default generator takes a third of the time.
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

/// How often each event happened in all scripts.
type Reach = BTreeMap<&'static str, u64>;

/// Counts the events of a script: scripts without any would prove nothing.
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

/// Scenario 72: if the collection stops changing, the cache and all listeners reach its final state (C-17), although
/// intermediate states may be missed (C-14).
#[test]
fn any_changes_on_any_connections_lead_to_the_final_state() {
    any_script(Weights { changes: 20, connections: 10, requests: 2, listeners: 1 });
}

/// Failed lists and watches do not keep the cache and the listeners from the final state (C-17).
#[test]
fn any_failures_of_requests_lead_to_the_final_state() {
    any_script(Weights { changes: 10, connections: 6, requests: 10, listeners: 1 });
}

/// Scenario 81: joining and leaving is atomic (C-10) with a replay of the cache (P-11), and a removed listener receives
/// nothing (P-14).
#[test]
fn listeners_that_join_and_leave_at_any_time_miss_nothing_and_receive_nothing_twice() {
    any_script(Weights { changes: 12, connections: 4, requests: 2, listeners: 12 });
}

/// The cache and all listeners reach the final state (C-17).
#[test]
fn any_mix_of_steps_leads_to_the_final_state() {
    any_script(Weights { changes: 10, connections: 10, requests: 10, listeners: 5 });
}
