//! The report on one collection, in Markdown.

use std::fmt::Write;

use clap::ValueEnum;

use super::{
    latency::Latency,
    options::{Options, SubjectName},
};
use crate::{
    server::Greeting,
    statistics::{median, range},
    subject::{Events, Synced},
};

const MIB: f64 = 1_048_576.0;

/// The goal for CPU time: our informer needs at most this share of the CPU time of a peer for the same events.
const CPU_GOAL: f64 = 1.0 / 2.0;
/// The goal for memory: our informer needs at most this share of the memory of a peer for the same objects.
const MEMORY_GOAL: f64 = 1.0 / 10.0;

/// One run of a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The subject.
    pub subject: SubjectName,
    /// The results of the first list.
    pub synced: Synced,
    /// The results of the events.
    pub events: Events,
    /// The latency of the events at a fixed rate.
    pub latency: Latency,
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

/// A reported ratio: its name, its values and its goal, which is an upper bound.
struct Measure {
    name: &'static str,
    value: fn(&Run) -> f64,
    goal: Option<f64>,
}

/// A column: its heading, its value in a run, and its number of decimals.
struct Column {
    heading: &'static str,
    value: fn(&Run) -> f64,
    decimals: usize,
}

const COLUMNS: [Column; 11] = [
    Column { heading: "synced, ms", value: |run| run.synced.synced_ms, decimals: 0 },
    Column { heading: "sync, CPU s", value: |run| run.synced.cpu_seconds, decimals: 2 },
    Column { heading: "CPU s per 100,000 events", value: cpu_per_100k, decimals: 2 },
    Column { heading: "events per s", value: events_per_second, decimals: 0 },
    Column { heading: "start, MiB", value: |run| run.synced.start_bytes as f64 / MIB, decimals: 0 },
    Column { heading: "settled, MiB", value: |run| run.synced.settled_bytes as f64 / MIB, decimals: 0 },
    Column { heading: "after events, MiB", value: |run| run.events.settled_bytes as f64 / MIB, decimals: 0 },
    Column { heading: "peak, MiB", value: |run| run.events.peak_bytes as f64 / MIB, decimals: 0 },
    Column { heading: "bytes per object", value: bytes_per_object, decimals: 0 },
    Column { heading: "latency p50, ms", value: |run| run.latency.p50_ms, decimals: 2 },
    Column { heading: "latency p99, ms", value: |run| run.latency.p99_ms, decimals: 2 },
];

const MEASURES: [Measure; 7] = [
    Measure { name: "CPU per event", value: cpu_per_100k, goal: Some(CPU_GOAL) },
    Measure { name: "bytes per object", value: bytes_per_object, goal: Some(MEMORY_GOAL) },
    Measure { name: "settled", value: |run| run.synced.settled_bytes as f64, goal: None },
    Measure { name: "peak", value: |run| run.events.peak_bytes as f64, goal: None },
    Measure { name: "time to synced", value: |run| run.synced.synced_ms, goal: None },
    Measure { name: "latency p50", value: |run| run.latency.p50_ms, goal: None },
    Measure { name: "latency p99", value: |run| run.latency.p99_ms, goal: None },
];

/// A heading, the table of medians, and a line for each peer.
pub(super) fn render(comparison: &Comparison, options: &Options) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, comparison, options);
    text
}

/// The memory for each additional object between two sizes. It excludes the fixed memory of the process.
pub(super) fn render_growth(small: &Comparison, large: &Comparison, options: &Options) -> String {
    let growth = |subject| {
        let settled = |of: &Comparison| median(of.of(subject).map(|run| run.synced.settled_bytes as f64));
        let objects = large.served.objects as f64 - small.served.objects as f64;
        Some((settled(large)? - settled(small)?) / objects)
    };
    let mut text = format!(
        "Bytes for each additional object, from {} to {} {}:",
        small.served.objects, large.served.objects, small.served.kind
    );
    let ours = options.subjects.first().and_then(|&subject| growth(subject));
    for (index, &subject) in options.subjects.iter().enumerate() {
        let (Some(ours), Some(growth)) = (ours, growth(subject)) else { continue };
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma} {subject} {growth:.0}");
        if index > 0 {
            let _ = write!(text, " (ours is {:.3} of it)", ours / growth);
        }
    }
    text.push_str(".\n");
    text
}

fn write(text: &mut String, comparison: &Comparison, options: &Options) -> std::fmt::Result {
    let served = &comparison.served;
    let managed_fields = options.managed_fields.to_possible_value();
    writeln!(
        text,
        "### {} {} of {} bytes ({} of them managedFields: {}), {} events, medians of {}\n",
        served.objects,
        served.kind,
        served.mean_bytes,
        served.mean_managed_fields_bytes,
        managed_fields.as_ref().map_or("", |value| value.get_name()),
        comparison.events,
        comparison.rounds.len(),
    )?;
    write!(text, "| |")?;
    COLUMNS.iter().try_for_each(|column| write!(text, " {} |", column.heading))?;
    write!(text, "\n|---|")?;
    COLUMNS.iter().try_for_each(|_| write!(text, "---:|"))?;
    writeln!(text)?;
    for &subject in &options.subjects {
        write_row(text, comparison, subject)?;
    }
    writeln!(text)?;
    let Some((&ours, peers)) = options.subjects.split_first() else { return Ok(()) };
    peers.iter().try_for_each(|&peer| write_ratios(text, comparison, ours, peer))
}

fn write_row(text: &mut String, comparison: &Comparison, subject: SubjectName) -> std::fmt::Result {
    write!(text, "| {subject} |")?;
    for Column { value, decimals, .. } in &COLUMNS {
        let middle = median(comparison.of(subject).map(value)).unwrap_or(f64::NAN);
        write!(text, " {middle:.decimals$} |")?;
    }
    writeln!(text)
}

/// Writes the ratios of our informer to a peer, each from runs of the same round.
fn write_ratios(
    text: &mut String,
    comparison: &Comparison,
    ours: SubjectName,
    peer: SubjectName,
) -> std::fmt::Result {
    write!(text, "{ours} / {peer}:")?;
    for (index, Measure { name, value, goal }) in MEASURES.iter().enumerate() {
        let ratios = || comparison.ratios(ours, peer, *value);
        let (Some(middle), Some((least, greatest))) = (median(ratios()), range(ratios())) else { continue };
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma} {name} {middle:.3} [{least:.3} - {greatest:.3}]")?;
        if let Some(goal) = goal.filter(|_| peer.is_kube_rs()) {
            let met = if middle <= goal { "met" } else { "MISSED" };
            write!(text, " (goal {goal} {met})")?;
        }
    }
    writeln!(text, ".")
}

// === impl Comparison ===

impl Comparison {
    fn of(&self, subject: SubjectName) -> impl Iterator<Item = &Run> {
        self.rounds.iter().flatten().filter(move |run| run.subject == subject)
    }

    fn ratios(
        &self,
        ours: SubjectName,
        peer: SubjectName,
        value: fn(&Run) -> f64,
    ) -> impl Iterator<Item = f64> {
        self.rounds.iter().filter_map(move |round| {
            let find = |name| round.iter().find(|run| run.subject == name);
            Some(value(find(ours)?) / value(find(peer)?))
        })
    }
}

fn cpu_per_100k(run: &Run) -> f64 {
    run.events.cpu_seconds * 1e5 / run.events.handled as f64
}

fn events_per_second(run: &Run) -> f64 {
    run.events.handled as f64 * 1e3 / run.events.elapsed_ms
}

/// The memory that the list added to the process, for each object.
fn bytes_per_object(run: &Run) -> f64 {
    run.synced.settled_bytes.saturating_sub(run.synced.start_bytes) as f64 / run.synced.objects as f64
}

#[cfg(test)]
mod tests;
