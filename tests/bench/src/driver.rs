//! Starts the servers and the subjects in turn, and prints the report.

mod child;
mod latency;
mod options;
mod table;

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};

pub use options::{Options, SubjectName};
pub use table::{Comparison, Run};

use child::Programs;

use crate::{client, collection::Recipe, machine, server::Greeting};

use latency::Latency;

/// Runs the benchmark. Writes the report to standard output and the progress to standard error.
///
/// # Errors
/// A process cannot be started, fails, or misses an event.
pub async fn report(options: &Options) -> Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{}\n", machine::describe())?;
    let mut comparisons = Vec::with_capacity(options.objects.len());
    for &objects in &options.objects {
        let comparison = compare(options, objects).await?;
        writeln!(output, "{}", table::render(&comparison, options))?;
        comparisons.push(comparison);
    }
    for sizes in comparisons.windows(2) {
        if let [small, large] = sizes {
            writeln!(output, "{}", table::render_growth(small, large, options))?;
        }
    }
    Ok(())
}

/// Runs each subject `rounds` times over this number of objects. Each round begins with another subject, so that no subject always runs
/// after the same one.
///
/// # Errors
/// Fails as [`report`] does.
pub async fn compare(options: &Options, objects: usize) -> Result<Comparison> {
    ensure!(options.rounds > 0 && !options.subjects.is_empty(), "nothing to run");
    let is_peer = |subject: &&SubjectName| !subject.is_ours();
    if let Some(peer) = options.subjects.iter().find(is_peer).filter(|_| options.churn) {
        bail!("{peer} counts updates only; with --churn, write --subjects informer");
    }
    let is_typed = |subject: &&SubjectName| subject.is_typed();
    if let Some(peer) = options.subjects.iter().find(is_typed).filter(|_| !options.kind.is_built_in()) {
        bail!("{peer} has no type for {}; leave it out of --subjects", options.kind);
    }
    let programs = Programs::find(options).await?;
    let mut rounds = Vec::with_capacity(options.rounds);
    let mut served = None;
    for round in 0..options.rounds {
        let mut subjects = options.subjects.clone();
        subjects.rotate_left(round % options.subjects.len());
        let mut runs = Vec::with_capacity(subjects.len());
        for subject in subjects {
            let (greeting, run) = run(options, &programs, objects, subject)
                .await
                .with_context(|| format!("{subject}, {objects} {}, round {}", options.kind, round + 1))?;
            progress(round, &run);
            served.get_or_insert(greeting);
            runs.push(run);
        }
        rounds.push(runs);
    }
    Ok(Comparison { served: served.context("nothing ran")?, events: options.events, rounds })
}

/// Runs one subject with its own server, so that no run affects another.
async fn run(
    options: &Options,
    programs: &Programs,
    objects: usize,
    subject: SubjectName,
) -> Result<(Greeting, Run)> {
    let Options { kind, page_size, seed, churn, .. } = *options;
    let recipe = Recipe { kind, objects, page_size, seed, churn };
    let (_server, greeting) = programs.serve(recipe).await?;
    let (synced, events, paced) = programs.measure(subject, &greeting, options).await?;
    let sent = client::sent(&client::connect(&greeting.url.parse()?)?).await?;
    let latency = Latency::of(&sent, &paced.arrivals)?;
    ensure!(synced.objects == objects as u64, "the cache had {} objects of {objects}", synced.objects);
    ensure!(events.handled == options.events, "{} of {} events handled", events.handled, options.events);
    Ok((greeting, Run { subject, synced, events, latency }))
}

#[expect(clippy::print_stderr, reason = "a run takes minutes, and the user wants to see its progress")]
fn progress(round: usize, Run { subject, synced, events, latency }: &Run) {
    eprintln!(
        "round {} {subject}: {} objects in {:.0} ms, {} events with {:.2} CPU seconds, latency {:.2} ms",
        round + 1,
        synced.objects,
        synced.synced_ms,
        events.handled,
        events.cpu_seconds,
        latency.p50_ms
    );
}
