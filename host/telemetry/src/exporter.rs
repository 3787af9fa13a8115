//! Sends spans in batches.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter as _},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Spans,
    collector::{CollectorError, Settings, connect},
    outbox::{Outbox, Standing},
};

/// The most spans that wait: about 8 MiB.
const WAITING: usize = 8_192;

/// The most spans of a batch.
const BATCH: usize = 512;

/// How long spans wait for others. Stages wake no thread when they queue a span: the exporter looks this often.
const EVERY: Duration = Duration::from_secs(1);

/// How long the last batches may take when the host stops.
const LAST_WITHIN: Duration = Duration::from_secs(2);

/// The time between two lines of the log about a collector that goes on failing.
const LOGGED_EVERY: Duration = Duration::from_secs(60);

/// Sends spans to one collector. [`run`](Self::run) does the work; clones show how it goes.
#[derive(Clone, Debug)]
pub struct Exporter {
    endpoint: Arc<str>,
    outbox: Arc<Outbox>,
}

/// The end of the queue that [`Exporter::run`] empties.
pub struct Pending {
    spans: mpsc::Receiver<SpanData>,
    send: Box<Sending>,
}

type Sending = dyn Fn(Vec<SpanData>) -> Pin<Box<dyn Future<Output = OTelSdkResult> + Send>> + Send + Sync;

// === impl Exporter ===

impl Exporter {
    /// An exporter to this collector, the spans for it, and the end of its queue. It does not connect yet. Must be called within a tokio
    /// runtime.
    ///
    /// # Errors
    /// [`CollectorError`] if the settings cannot be used.
    pub fn new(settings: &Settings) -> Result<(Self, Spans, Pending), CollectorError> {
        let collector = Arc::new(connect(settings)?);
        let send = move |batch| -> Pin<Box<dyn Future<Output = OTelSdkResult> + Send>> {
            let collector = Arc::clone(&collector);
            Box::pin(async move { collector.export(batch).await })
        };
        Ok(Self::sending(settings, Box::new(send)))
    }

    fn sending(settings: &Settings, send: Box<Sending>) -> (Self, Spans, Pending) {
        let (outbox, spans) = Outbox::new(WAITING);
        let outbox = Arc::new(outbox);
        let exporter = Self { endpoint: settings.endpoint.as_str().into(), outbox: Arc::clone(&outbox) };
        (exporter, Spans::new(settings.sample, outbox), Pending { spans, send })
    }

    /// The collector.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The counters of spans, and the last failure.
    pub fn standing(&self) -> Standing {
        self.outbox.standing()
    }

    /// Sends batches until `stop` is cancelled, and then the spans that are left, for at most 2 s. A batch that cannot be sent is dropped
    /// and counted; the log has the reason at once and then at most once a minute.
    ///
    /// # Cancel safety
    /// A dropped future loses the batch that it sends.
    pub async fn run(self, mut pending: Pending, stop: CancellationToken) {
        let mut logged = None;
        loop {
            let stopped = tokio::select! {
                biased;
                () = stop.cancelled() => true,
                () = self.outbox.filling.notified() => false,
                () = sleep(EVERY) => false,
            };
            let mut sending = std::pin::pin!(self.send_all(&mut pending, &mut logged));
            // A batch that is on its way when the host stops is one of the last.
            if stopped || stop.run_until_cancelled(sending.as_mut()).await.is_none() {
                timeout(LAST_WITHIN, sending).await.ok();
                return;
            }
        }
    }

    /// Sends everything that waits, until a batch fails.
    async fn send_all(&self, pending: &mut Pending, logged: &mut Option<Instant>) {
        loop {
            let mut batch = Vec::new();
            while batch.len() < BATCH
                && let Ok(span) = pending.spans.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            let spans = batch.len();
            if let Err(error) = (pending.send)(batch).await {
                return self.failed(spans as u64, &error.to_string(), logged);
            }
            self.sent(spans as u64, logged);
        }
    }

    fn sent(&self, spans: u64, logged: &mut Option<Instant>) {
        self.outbox.exported.fetch_add(spans, Relaxed);
        if self.outbox.failure.lock().take().is_some() {
            *logged = None;
            tracing::info!(endpoint = %self.endpoint, "spans are sent again");
        }
    }

    fn failed(&self, spans: u64, error: &str, logged: &mut Option<Instant>) {
        self.outbox.failed.fetch_add(spans, Relaxed);
        *self.outbox.failure.lock() = Some(error.to_owned());
        if logged.is_none_or(|at| at.elapsed() >= LOGGED_EVERY) {
            *logged = Some(Instant::now());
            let lost = self.outbox.failed.load(Relaxed) + self.outbox.dropped.load(Relaxed);
            tracing::warn!(endpoint = %self.endpoint, error, lost, "spans cannot be sent; they are dropped");
        }
    }
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
