//! client-go judges: the same churn with the same faults for client-go's shared informers and for ours, through the
//! real kube-apiserver. At the end both caches equal a fresh list, byte for byte, and what was told on the way differs
//! only where `host/cache/DIFFERENCES.md` says so. A second handler joins each side in the middle of the churn.
//!
//! `INFORMER_ORACLE_SEEDS=7,12` runs these seeds instead of the thirty.

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

use informer_tests::cluster::require_oracle;
use tokio::task::JoinSet;

use compare::Differences;
use sides::Compared;
use world::{Round, World};

/// Changes of a run while the informers run.
const CHANGES: usize = 2_000;
const LEAST_FAULTS: usize = 20;
/// Runs at the same time: while some wait out client-go's backoff, which cannot be shortened, others work.
const RUNS_A_ROUND: usize = 5;

/// What CI runs. An odd seed has a watch cache, an even one has none.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=30;

#[tokio::test(flavor = "multi_thread")]
async fn client_go_and_we_agree_where_the_server_has_a_watch_cache() {
    judge(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_go_and_we_agree_where_every_compaction_is_felt() {
    judge(false).await;
}

async fn judge(watch_cache: bool) {
    if require_oracle().is_err() {
        return;
    }
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

/// Past the test harness's capture: what the runs showed is worth reading when they went well, too.
fn say(line: &str) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr(), "==> oracle: {line}");
}
