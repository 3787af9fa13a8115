//! Starts the servers and the subjects in turn, and prints the report.

mod child;
mod machine;
mod statistics;
mod table;

use std::{fmt, io::Write, path::PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use child::Programs;

use crate::{
    pods::Recipe,
    server::Greeting,
    subject::{Events, ManagedFields, Synced},
};

/// The options of a benchmark run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Sizes of the collection; the report has one table for each.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 50_000])]
    pub pods: Vec<usize>,
    /// Number of events after the list.
    #[arg(long, default_value_t = 100_000)]
    pub events: u64,
    /// Number of runs of each subject; the table shows medians.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Subjects to run; the ratios compare the first one with the others.
    #[arg(long, value_enum, value_delimiter = ',',
        default_values_t = [SubjectName::Informer, SubjectName::KubeDynamic, SubjectName::KubeTyped])]
    pub subjects: Vec<SubjectName>,
    /// Whether all subjects drop or keep `metadata.managedFields`.
    #[arg(long, value_enum, default_value_t = ManagedFields::Drop)]
    pub managed_fields: ManagedFields,
    /// Largest number of events in flight; never more than there are pods.
    #[arg(long, default_value_t = 5_000)]
    pub batch: u64,
    /// Number of pods on each page of a list.
    #[arg(long, default_value_t = 500)]
    pub page_size: usize,
    /// Seed; the same seed generates the same pods.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Longest wait for the memory of a subject to settle.
    #[arg(long, default_value_t = 20)]
    pub settle_seconds: u64,
    /// Deadline for the list of a subject, and for each batch of events.
    #[arg(long, default_value_t = 300)]
    pub limit_seconds: u64,
    /// Directory with the programs of the subjects; defaults to the directory of this program.
    #[arg(long)]
    pub programs: Option<PathBuf>,
    /// Path of the component; defaults to the output of `cargo xtask guests`.
    #[arg(long)]
    pub component: Option<PathBuf>,
}

/// The subjects of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum SubjectName {
    /// Our informer with a sandboxed component as the handler.
    Informer,
    /// Our informer with a handler in the host. The difference to `informer` is the cost of the sandbox.
    InformerNative,
    /// kube-rs with `DynamicObject`.
    KubeDynamic,
    /// kube-rs with `k8s_openapi`'s `Pod`.
    KubeTyped,
}

/// One run of a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The subject.
    pub subject: SubjectName,
    /// The results of the first list.
    pub synced: Synced,
    /// The results of the events.
    pub events: Events,
}

/// All runs over a collection of one size.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The description of the served collection.
    pub served: Greeting,
    /// The number of events that each subject received.
    pub events: u64,
    /// One run of each subject for each round, in order.
    pub rounds: Vec<Vec<Run>>,
}

/// Runs the benchmark. Writes the report to standard output and the progress to standard error.
///
/// # Errors
/// A process cannot be started, fails, or misses an event.
pub async fn report(options: &Options) -> Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{}\n", machine::describe())?;
    let mut comparisons = Vec::with_capacity(options.pods.len());
    for &pods in &options.pods {
        let comparison = compare(options, pods).await?;
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

/// Runs each subject `rounds` times over `pods` pods. Each round begins with another subject, so that none
/// always runs on the machine that the same one left behind.
///
/// # Errors
/// Those of [`report`].
pub async fn compare(options: &Options, pods: usize) -> Result<Comparison> {
    ensure!(options.rounds > 0 && !options.subjects.is_empty(), "nothing to run");
    let programs = Programs::find(options).await?;
    let mut rounds = Vec::with_capacity(options.rounds);
    let mut served = None;
    for round in 0..options.rounds {
        let mut subjects = options.subjects.clone();
        subjects.rotate_left(round % options.subjects.len());
        let mut runs = Vec::with_capacity(subjects.len());
        for subject in subjects {
            let (greeting, run) = run(options, &programs, pods, subject)
                .await
                .with_context(|| format!("{subject}, {pods} pods, round {}", round + 1))?;
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
    pods: usize,
    subject: SubjectName,
) -> Result<(Greeting, Run)> {
    let recipe = Recipe { pods, page_size: options.page_size, seed: options.seed };
    let (_server, greeting) = programs.serve(recipe).await?;
    let (synced, events) = programs.measure(subject, &greeting, options).await?;
    ensure!(synced.objects == pods as u64, "the cache had {} objects of {pods}", synced.objects);
    ensure!(events.handled == options.events, "{} of {} events handled", events.handled, options.events);
    Ok((greeting, Run { subject, synced, events }))
}

#[expect(clippy::print_stderr, reason = "a run takes minutes, and the user wants to see its progress")]
fn progress(round: usize, Run { subject, synced, events }: &Run) {
    eprintln!(
        "round {} {subject}: {} objects in {:.0} ms, {} events with {:.2} CPU seconds",
        round + 1,
        synced.objects,
        synced.synced_ms,
        events.handled,
        events.cpu_seconds
    );
}

// === impl SubjectName ===

impl SubjectName {
    /// Returns true for the subjects to which the goals apply.
    fn is_kube_rs(self) -> bool {
        matches!(self, Self::KubeDynamic | Self::KubeTyped)
    }
}

impl fmt::Display for SubjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Informer => "informer",
            Self::InformerNative => "informer-native",
            Self::KubeDynamic => "kube-dynamic",
            Self::KubeTyped => "kube-typed",
        })
    }
}
