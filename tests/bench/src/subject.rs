//! The measurement, which is the same for every subject.
//!
//! A subject is a process with a cache of the served objects and a handler for each event. It lists the objects, idles until
//! its memory has settled, receives the events, idles again, and receives events at a fixed rate.

mod counter;
mod sample;

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use http::Uri;
use kube::Client;
use tokio::time::{sleep, timeout};

pub use counter::Counter;
pub use sample::{Events, Paced, Sample, Synced, nanoseconds};

use crate::{client, collection::Kind, usage::Usage};

/// The time between two samples of the memory, and the number of samples in which it must not change. Together they are
/// five seconds, half of the time in which jemalloc returns freed pages.
const LOOK: Duration = Duration::from_millis(500);
const STILL_LOOKS: usize = 10;
/// Memory counts as unchanged if it changes by less than this fraction (one part in N).
const STILL: u64 = 200;

/// The parameters of a measurement.
#[derive(Args, Clone, Debug)]
pub struct Plan {
    /// Address of the server.
    #[arg(long)]
    pub server: Uri,
    /// Kind of the served objects.
    #[arg(long, value_enum)]
    pub kind: Kind,
    /// Number of served objects.
    #[arg(long)]
    pub objects: u64,
    /// Number of events.
    #[arg(long)]
    pub events: u64,
    /// Largest number of events in flight. It is at most the number of objects, so that a slow handler cannot skip events of
    /// one object by merging them.
    #[arg(long)]
    pub batch: u64,
    /// Number of events at a fixed rate, after the others.
    #[arg(long)]
    pub paced: u64,
    /// Number of objects on each page of a list.
    #[arg(long)]
    pub page_size: u32,
    /// Drops or keeps `metadata.managedFields`.
    #[arg(long, value_enum)]
    pub managed_fields: ManagedFields,
    /// Longest wait for the memory to settle; 0 means no wait.
    #[arg(long)]
    pub settle_seconds: u64,
    /// Deadline for each phase.
    #[arg(long)]
    pub limit_seconds: u64,
}

/// How a subject treats `metadata.managedFields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ManagedFields {
    /// The subject drops `managedFields` before it caches the object.
    Drop,
    /// The subject keeps `managedFields`.
    Keep,
}

/// A subject: it lists, watches, caches and handles.
pub trait Subject {
    /// Starts the subject. It reports each handled initial object, each handled event and any failure to `counter`.
    ///
    /// # Errors
    /// The subject cannot start.
    fn start(&mut self, client: &Client, counter: &Counter) -> Result<()>;

    /// Waits until the cache has the whole first list.
    ///
    /// # Errors
    /// The subject ended before.
    fn cached(&self) -> impl Future<Output = Result<()>>;

    /// The number of objects in the cache.
    fn objects(&self) -> usize;
}

/// Measures all phases of a subject and writes a [`Sample`] for each to standard output as a line of JSON.
///
/// # Errors
/// The subject failed, missed an object or an event, or took too long.
pub async fn measure(plan: &Plan, mut subject: impl Subject) -> Result<()> {
    ensure!((1..=plan.objects).contains(&plan.batch), "--batch must be at least 1 and at most --objects");
    let client = client::connect(&plan.server)?;
    // Connect before the measurement, so that the memory of the connection is not counted.
    client::emit(&client, 0).await?;
    let counter = Counter::default();
    let synced = sync(plan, &client, &counter, &mut subject).await?;
    write(&Sample::Synced(synced))?;
    let events = events(plan, &client, &counter).await?;
    write(&Sample::Events(events))?;
    let paced = paced(plan, &client, &counter).await?;
    let sent = plan.objects + plan.events + plan.paced;
    ensure!(counter.count() == sent, "{} events too many", counter.count().saturating_sub(sent));
    write(&Sample::Paced(paced))
}

async fn sync(plan: &Plan, client: &Client, counter: &Counter, subject: &mut impl Subject) -> Result<Synced> {
    let before = Usage::now()?;
    let started = Instant::now();
    subject.start(client, counter)?;
    within(plan, counter.reaches(plan.objects)).await.context("the first list")?;
    within(plan, subject.cached()).await.context("the cache of the first list")?;
    let (elapsed, after) = (started.elapsed(), Usage::now()?);
    let settled = settle(plan).await?;
    Ok(Synced {
        objects: subject.objects() as u64,
        synced_ms: elapsed.as_secs_f64() * 1e3,
        cpu_seconds: after.cpu_seconds - before.cpu_seconds,
        start_bytes: before.resident_bytes,
        settled_bytes: settled.resident_bytes,
        peak_bytes: settled.peak_bytes,
    })
}

async fn events(plan: &Plan, client: &Client, counter: &Counter) -> Result<Events> {
    let before = Usage::now()?;
    let started = Instant::now();
    let mut sent = 0;
    while sent < plan.events {
        let batch = plan.batch.min(plan.events - sent);
        client::emit(client, batch).await?;
        sent += batch;
        within(plan, counter.reaches(plan.objects + sent)).await.with_context(|| format!("event {sent}"))?;
    }
    let (elapsed, after) = (started.elapsed(), Usage::now()?);
    let settled = settle(plan).await?;
    Ok(Events {
        handled: counter.count().saturating_sub(plan.objects),
        elapsed_ms: elapsed.as_secs_f64() * 1e3,
        cpu_seconds: after.cpu_seconds - before.cpu_seconds,
        settled_bytes: settled.resident_bytes,
        peak_bytes: settled.peak_bytes,
    })
}

async fn paced(plan: &Plan, client: &Client, counter: &Counter) -> Result<Paced> {
    counter.record_arrivals();
    client::pace(client, plan.paced).await?;
    within(plan, counter.reaches(plan.objects + plan.events + plan.paced))
        .await
        .context("the paced events")?;
    Ok(Paced { arrivals: counter.arrivals() })
}

async fn within(plan: &Plan, reached: impl Future<Output = Result<()>>) -> Result<()> {
    let limit = Duration::from_secs(plan.limit_seconds);
    timeout(limit, reached).await.with_context(|| format!("not done within {limit:?}"))?
}

/// Waits until the resident memory no longer changes. Allocators return pages some seconds later.
async fn settle(plan: &Plan) -> Result<Usage> {
    let until = Instant::now() + Duration::from_secs(plan.settle_seconds);
    let mut usage = Usage::now()?;
    let mut still = 0;
    while still < STILL_LOOKS && Instant::now() < until {
        sleep(LOOK).await;
        let before = usage.resident_bytes;
        usage = Usage::now()?;
        let moved = usage.resident_bytes.abs_diff(before) > before / STILL;
        still = if moved { 0 } else { still + 1 };
    }
    Ok(usage)
}

fn write(sample: &Sample) -> Result<()> {
    writeln!(std::io::stdout(), "{}", serde_json::to_string(sample)?).context("cannot report")
}
