//! Reloader, replicator and janitor in one host, under random changes and faults: restarts of the API server, cut watches, requests
//! that fail or whose answers are lost, sources that are deleted and created again at once, other writers of the same objects, and hosts
//! that are killed at a write.
//!
//! At the end the pods of each workload have read the sources as they are, no roll was made twice, each copy is right, and nothing else
//! exists. Then a restart of the host writes nothing.
//!
//! `INFORMER_READY_MADE_SEEDS=7,20-40` runs these seeds instead of the default ones.

use std::{
    env,
    io::{self, Write},
    time::Duration,
};

use informer_tests::host::PATIENCE;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{fixture, judge, script::Script, stage::Stage};

/// The default seeds. With an even one the reloader has the strategy `annotations`.
const SEEDS: &str = "1-10";

/// Runs at the same time. Most of a run is waiting.
const RUNS_AT_ONCE: usize = 5;

/// The outcome of a run.
struct Outcome {
    seed: u64,
    rolls: usize,
    kills: usize,
    /// Requests of the host that may change objects.
    writes: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn no_roll_is_lost_or_doubled_and_no_copy_is_wrong_whatever_fails() {
    let text = env::var("INFORMER_READY_MADE_SEEDS").unwrap_or_else(|_| SEEDS.to_owned());
    compile().await;
    let (mut runs, mut outcomes) = (JoinSet::new(), Vec::new());
    for seed in seeds(&text) {
        if runs.len() >= RUNS_AT_ONCE {
            outcomes.extend(runs.join_next().await.map(Result::unwrap));
        }
        runs.spawn(run(seed));
    }
    outcomes.extend(runs.join_all().await);
    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    let (rolls, kills, writes) =
        (sum(|outcome| outcome.rolls), sum(|outcome| outcome.kills), sum(|outcome| outcome.writes));
    let runs = outcomes.len();
    say(&format!("{runs} runs: {rolls} rolls, {writes} requests to write, {kills} kills"));
    assert!(rolls >= runs && kills > runs / 2, "the runs show too little");
}

/// The first host compiles the components for all runs.
async fn compile() {
    let mut stage = Stage::new("env-vars").await;
    stage.start().await;
    stage.host().idle().await;
    stage.stop().await;
}

async fn run(seed: u64) -> Outcome {
    let strategy = if seed.is_multiple_of(2) { "annotations" } else { "env-vars" };
    let mut stage = Stage::new(strategy).await;
    fixture::create(&stage.cluster).await;
    stage.start().await;
    right(&mut stage, seed, "at the start").await;

    let mut script = Script::new(seed, stage);
    script.run().await;
    let Script { mut stage, kills, .. } = script;
    right(&mut stage, seed, "after the faults").await;

    let seen = stage.history.seen();
    let writes = stage.gateway.take().iter().filter(|passed| passed.is_write()).count();
    stage.stop().await;
    let _ = stage.gateway.take();
    stage.start().await;
    right(&mut stage, seed, "after the restart").await;
    // An Event about a copy that is refused is recorded again. It changes no object.
    let again: Vec<_> = stage.gateway.take().into_iter().filter(|passed| passed.is_write()).collect();
    let again: Vec<_> = again.into_iter().filter(|passed| !passed.is_about_events()).collect();
    assert!(again.is_empty(), "seed {seed}: the restart writes: {again:?}\n{}", stage.host().log_tail());
    stage.stop().await;
    let outcome = Outcome { seed, rolls: judge::rolls(&seen), kills, writes };
    say(&format!("seed {}: {} rolls, {} kills", outcome.seed, outcome.rolls, outcome.kills));
    outcome
}

/// Waits until the host is idle and all objects are right.
async fn right(stage: &mut Stage, seed: u64, when: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let problems = judge::problems(&stage.history.seen());
        if problems.is_empty() && stage.host().is_idle().await {
            stage.host().idle().await;
            if judge::problems(&stage.history.seen()).is_empty() {
                return;
            }
        }
        if Instant::now() > deadline {
            let log = stage.keep();
            panic!("seed {seed}, {when}: {problems:#?}\nthe files are in {}", log.display());
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// The seeds of a list such as `7,20-40`.
fn seeds(text: &str) -> Vec<u64> {
    let number = |text: &str| -> u64 { text.trim().parse().unwrap() };
    let range = |item: &str| {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        number(first)..=number(last)
    };
    text.split(',').flat_map(range).collect()
}

/// Prints a line even while the test harness captures output, because the results of successful runs matter too.
fn say(line: &str) {
    // If standard error is closed, there is no other place for the line.
    let _ = writeln!(io::stderr(), "==> ready-made: {line}");
}
