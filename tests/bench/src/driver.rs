//! Starts everything, takes turns between the subjects, and prints what came out.

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

/// What a benchmark run is made of.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Collection sizes, one table each.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 50_000])]
    pub pods: Vec<usize>,
    /// Events after the list.
    #[arg(long, default_value_t = 100_000)]
    pub events: u64,
    /// How often each subject runs; the table shows medians.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Who takes part; ratios are against the first.
    #[arg(long, value_enum, value_delimiter = ',',
        default_values_t = [SubjectName::Informer, SubjectName::KubeDynamic, SubjectName::KubeTyped])]
    pub subjects: Vec<SubjectName>,
    /// What every subject does with `metadata.managedFields` before it keeps an object.
    #[arg(long, value_enum, default_value_t = ManagedFields::Drop)]
    pub managed_fields: ManagedFields,
    /// Events in flight at most; never more than there are pods.
    #[arg(long, default_value_t = 5_000)]
    pub batch: u64,
    /// Pods a list page.
    #[arg(long, default_value_t = 500)]
    pub page_size: usize,
    /// The same seed makes the same pods.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long a subject's memory may take to settle, at most.
    #[arg(long, default_value_t = 20)]
    pub settle_seconds: u64,
    /// The time for a subject's list and for each batch of its events, at most.
    #[arg(long, default_value_t = 300)]
    pub limit_seconds: u64,
    /// Where the programs of the subjects are; beside this one by default.
    #[arg(long)]
    pub programs: Option<PathBuf>,
    /// The component; where `cargo xtask guests` leaves it by default.
    #[arg(long)]
    pub component: Option<PathBuf>,
}

/// Who can take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum SubjectName {
    /// Ours, with a sandboxed component as the handler.
    Informer,
    /// Ours, with a handler in the host: what the sandbox costs is the difference.
    InformerNative,
    /// kube-rs with `DynamicObject`.
    KubeDynamic,
    /// kube-rs with `k8s_openapi`'s `Pod`.
    KubeTyped,
}

/// One subject's run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Who.
    pub subject: SubjectName,
    /// The first list.
    pub synced: Synced,
    /// The events.
    pub events: Events,
}

/// All runs over a collection of one size; `rounds[i]` has one run of each subject.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was served.
    pub served: Greeting,
    /// Events each subject was sent.
    pub events: u64,
    /// In the order they ran.
    pub rounds: Vec<Vec<Run>>,
}

/// Runs everything and writes the report to standard output, progress to standard error.
///
/// # Errors
/// A process cannot be started, fails, or loses an event.
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
/// As [`report`].
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

/// One subject against a server of its own, so that none finds another's traces.
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

#[expect(
    clippy::print_stderr,
    reason = "a run takes minutes; the person who started it wants to see it move"
)]
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
    /// The goals are set against these.
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
