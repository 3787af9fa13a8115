//! The steps of a measurement.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use informer_tests::gateway::Passed;
use tokio::time::{Instant, sleep};

use super::{
    Arguments,
    objects::{Objects, Rolls},
    subject::Subject,
};
use crate::processes::Usage;

/// The columns of a row.
pub(crate) const HEADER: &str = "| | settled MiB | peak MiB | CPU s to settle | roll p50 ms | roll p99 ms | copies s | CPU s for the changes | \
     MiB after | rolls: right, surplus, missing | requests |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---|";

/// The time before each measured roll. A roll is three requests, and a plugin may send 20 a second by default: without pauses the rolls
/// would wait for this limit.
const BETWEEN_ROLLS: Duration = Duration::from_millis(300);

/// The programs have settled if they use no more than this share of a processor over [`WINDOW`].
const QUIET: f64 = 0.02;

/// The time over which the use of the processor is measured.
const WINDOW: Duration = Duration::from_secs(5);

/// The longest time until they have settled.
const SETTLED_WITHIN: Duration = Duration::from_secs(240);

/// Makes the steps, and returns a row of the table.
pub(crate) async fn measure(
    name: &str,
    subject: Subject,
    objects: &Objects,
    arguments: &Arguments,
) -> Result<String> {
    settle(&subject).await?;
    let settled = Usage::of(&subject.processes())?;
    let first = verbs(&subject.gateway.take());
    let generations = objects.generations().await?;
    let mut times = Vec::new();
    for number in 0..arguments.rolls {
        sleep(BETWEEN_ROLLS).await;
        times.push(objects.roll(number % objects.workloads, &format!("{name} {number}")).await?);
    }
    times.sort();
    let rolls = verbs(&subject.gateway.take());
    let copies = objects.copy(name).await?;
    settle(&subject).await?;
    let copied = verbs(&subject.gateway.take());
    let before = Usage::of(&subject.processes())?;
    objects.change(arguments.changes, name).await?;
    settle(&subject).await?;
    let after = Usage::of(&subject.processes())?;
    let changed = verbs(&subject.gateway.take());
    let Rolls { right, surplus, missing } = objects.rolls_since(&generations).await?;
    let quantile = |share: usize| -> Result<u128> {
        Ok(times.get((times.len() * share / 100).min(times.len() - 1)).context("no rolls")?.as_millis())
    };
    Ok(format!(
        "| {name} | {:.0} | {:.0} | {:.1} | {} | {} | {:.1} | {:.1} | {:.0} | {right}, {surplus}, {missing} | start: {first}; rolls: {rolls}; \
         copies: {copied}; changes: {changed} |",
        settled.resident_mib,
        settled.peak_mib,
        settled.cpu_seconds,
        quantile(50)?,
        quantile(99)?,
        copies.as_secs_f64(),
        after.cpu_seconds - before.cpu_seconds,
        after.resident_mib,
    ))
}

/// Waits until the programs have little to do. The measured time includes work that comes late, such as retries.
async fn settle(subject: &Subject) -> Result<()> {
    let (start, mut quiet) = (Instant::now(), 0);
    while quiet < 2 && start.elapsed() < SETTLED_WITHIN {
        let before = Usage::of(&subject.processes())?.cpu_seconds;
        sleep(WINDOW).await;
        let used = Usage::of(&subject.processes())?.cpu_seconds - before;
        quiet = if used / WINDOW.as_secs_f64() <= QUIET { quiet + 1 } else { 0 };
    }
    Ok(())
}

/// The number of requests by verb.
fn verbs(passed: &[Passed]) -> String {
    let mut verbs: BTreeMap<String, usize> = BTreeMap::new();
    for one in passed {
        let verb = match (one.is_watch, one.path.contains("/namespaces/")) {
            (true, _) => "watch".to_owned(),
            (false, false) if !one.is_write() => "list or discovery".to_owned(),
            _ => one.method.to_string(),
        };
        *verbs.entry(verb).or_default() += 1;
    }
    verbs.iter().map(|(verb, times)| format!("{verb} {times}")).collect::<Vec<_>>().join(", ")
}
