//! What is measured, and how: the same for every subject.
//!
//! A subject is a process that keeps a cache of the served pods and has a handler for each event. It lists, is
//! left alone until its memory has settled, gets the events, and is left alone again.

mod counter;
mod sample;
mod usage;

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
pub use sample::{Events, Sample, Synced};
use usage::Usage;

use crate::client;

/// How often settling memory is looked at, and over how many looks it must keep still: five seconds, half of
/// the time in which jemalloc gives back what was freed.
const LOOK: Duration = Duration::from_millis(500);
const STILL_LOOKS: usize = 10;
/// Memory that changes by less than one part in so many keeps still.
const STILL: u64 = 200;

/// What is asked of a subject.
#[derive(Args, Clone, Debug)]
pub struct Plan {
    /// The server's address.
    #[arg(long)]
    pub server: Uri,
    /// How many pods it serves.
    #[arg(long)]
    pub pods: u64,
    /// How many events are wanted.
    #[arg(long)]
    pub events: u64,
    /// Events in flight at most. Not more than pods: a handler that is behind must not be spared events of
    /// the same pod by merging them.
    #[arg(long)]
    pub batch: u64,
    /// Pods a list page.
    #[arg(long)]
    pub page_size: u32,
    /// What becomes of `metadata.managedFields` before an object is kept.
    #[arg(long, value_enum)]
    pub managed_fields: ManagedFields,
    /// How long memory may take to settle, at most; 0: it is taken as it is.
    #[arg(long)]
    pub settle_seconds: u64,
    /// The time for each of the two phases, at most.
    #[arg(long)]
    pub limit_seconds: u64,
}

/// What becomes of `metadata.managedFields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ManagedFields {
    /// It is dropped before the object is kept.
    Drop,
    /// It is kept.
    Keep,
}

/// Something that lists, watches, keeps and handles.
pub trait Subject {
    /// Begins; from now on each initial object and each event that was handled is counted on `counter`, and
    /// a failure is reported to it.
    ///
    /// # Errors
    /// It cannot begin.
    fn start(&mut self, client: &Client, counter: &Counter) -> Result<()>;

    /// Waits until readers of its cache find the whole first list.
    ///
    /// # Errors
    /// It ended before.
    fn cached(&self) -> impl Future<Output = Result<()>>;

    /// How many objects its cache has.
    fn objects(&self) -> usize;
}

/// Takes a subject through both phases and writes a [`Sample`] for each to standard output, a line of JSON.
///
/// # Errors
/// The subject failed, missed an object or an event, or took too long.
pub async fn measure(plan: &Plan, mut subject: impl Subject) -> Result<()> {
    ensure!((1..=plan.pods).contains(&plan.batch), "--batch must be at least 1 and at most --pods");
    let client = client::connect(&plan.server)?;
    // The connection, and what it allocates, is there before anything is measured.
    client::emit(&client, 0).await?;
    let counter = Counter::default();
    let synced = sync(plan, &client, &counter, &mut subject).await?;
    write(&Sample::Synced(synced))?;
    let events = events(plan, &client, &counter).await?;
    ensure!(counter.count() == plan.pods + plan.events, "{} events too many", {
        counter.count().saturating_sub(plan.pods + plan.events)
    });
    write(&Sample::Events(events))
}

async fn sync(plan: &Plan, client: &Client, counter: &Counter, subject: &mut impl Subject) -> Result<Synced> {
    let before = Usage::now()?;
    let started = Instant::now();
    subject.start(client, counter)?;
    within(plan, counter.reaches(plan.pods)).await.context("the first list")?;
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
        within(plan, counter.reaches(plan.pods + sent)).await.with_context(|| format!("event {sent}"))?;
    }
    let (elapsed, after) = (started.elapsed(), Usage::now()?);
    let settled = settle(plan).await?;
    Ok(Events {
        handled: counter.count().saturating_sub(plan.pods),
        elapsed_ms: elapsed.as_secs_f64() * 1e3,
        cpu_seconds: after.cpu_seconds - before.cpu_seconds,
        settled_bytes: settled.resident_bytes,
        peak_bytes: settled.peak_bytes,
    })
}

async fn within(plan: &Plan, reached: impl Future<Output = Result<()>>) -> Result<()> {
    let limit = Duration::from_secs(plan.limit_seconds);
    timeout(limit, reached).await.with_context(|| format!("not done within {limit:?}"))?
}

/// Waits until the resident memory keeps still: allocators give pages back some seconds later.
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
