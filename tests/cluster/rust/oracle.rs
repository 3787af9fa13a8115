//! client-go as the judge. client-go's shared informers and ours get the same changes with the same faults from the real
//! kube-apiserver. At the end both caches equal a fresh list byte for byte, and the notifications differ only in ways
//! that `host/cache/DIFFERENCES.md` documents. A second handler joins each side halfway.
//!
//! `INFORMER_ORACLE_SEEDS=7,12` runs these seeds instead of the default thirty.

mod client_go;
mod compare;
mod fault;
mod informers;
mod injector;
mod journal;
mod list_mode;
mod pace;
mod plan;
mod report;
mod resource;
mod run;
mod sides;
mod truth;
mod world;
mod writer;

use std::{
    env,
    io::{self, Write},
    sync::Arc,
};

use tokio::task::JoinSet;

use compare::Differences;
use sides::Compared;
use world::{Round, World};

/// The number of changes in a run while the informers run.
const CHANGES: usize = 2_000;
const LEAST_FAULTS: usize = 20;
/// The number of concurrent runs. While some wait for client-go's backoff, which cannot be shortened, others work.
const RUNS_A_ROUND: usize = 5;

/// The default seeds. Odd seeds have a watch cache, even seeds have none.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=30;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn client_go_and_we_agree_with_a_watch_cache() {
    judge(true).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn client_go_and_we_agree_without_a_watch_cache() {
    judge(false).await;
}

async fn judge(watch_cache: bool) {
    let mut seeds = chosen_seeds().unwrap_or_else(|| SEEDS.collect());
    seeds.retain(|seed| (seed % 2 == 1) == watch_cache);
    if seeds.is_empty() {
        return;
    }
    let world = Arc::new(World::start(watch_cache).await);
    let mut differences = Differences::default();
    for seeds in seeds.chunks(RUNS_A_ROUND) {
        let round = Arc::new(Round::new(Arc::clone(&world), seeds[0], seeds.len()));
        let mut runs = JoinSet::new();
        for seed in seeds {
            runs.spawn(run::run(*seed, CHANGES, Arc::clone(&round)));
        }
        for report in runs.join_all().await {
            say(&report.to_string());
            report.check();
            assert!(report.changes >= CHANGES && report.faults() >= LEAST_FAULTS);
            let Compared { theirs, ours, differences: found, .. } = &report.outcome.early;
            assert!(theirs.relists() > 0 && ours.relists() > 0, "no fault led to a list");
            differences.add(found);
        }
    }
    say(&format!("in all: {differences}"));
}

fn chosen_seeds() -> Option<Vec<u64>> {
    let text = env::var("INFORMER_ORACLE_SEEDS").ok()?;
    Some(text.split(',').map(|seed| seed.trim().parse().unwrap()).collect())
}

/// Prints a line even while the test harness captures output, because the results of successful runs matter too.
fn say(line: &str) {
    // If standard error is closed, there is no other place for the line.
    let _ = writeln!(io::stderr(), "==> oracle: {line}");
}
