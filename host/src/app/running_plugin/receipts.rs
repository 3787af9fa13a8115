//! The receipts of one plugin: read when it starts, and written after its calls.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use informer_dispatch::{Initial, Receipt, Receipts};
use informer_types::{ObjectKey, Source};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, info_span};

use crate::{
    admin::types,
    config,
    state::{KeptReceipts, ReceiptsSize, State},
};

/// Time from an acknowledgement to the write, so that one write has many acknowledgements. If the process is killed,
/// notifications that were acknowledged within this time are delivered again.
const WRITE_AFTER: Duration = Duration::from_millis(100);

/// Time between two attempts to write to a database that failed.
const RETRY_EVERY: Duration = Duration::from_secs(5);

/// The most objects of one write: others take turns with it.
const BATCH: usize = 4096;

/// The receipts of one plugin, and the task that writes them.
pub(in crate::app) struct ReceiptKeeper {
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

struct Shared {
    plugin: Arc<str>,
    receipts: Receipts,
    store: KeptReceipts,
    /// Why the last write failed. `None` if it succeeded.
    problem: Mutex<Option<String>>,
    /// True if an earlier process left receipts, so that objects that did not change since are held back.
    holds_back: AtomicBool,
}

// === impl ReceiptKeeper ===

impl ReceiptKeeper {
    /// Writes receipts of the subscriptions of this configuration from now on.
    pub(super) fn start(config: &config::Plugin, state: State) -> Self {
        let store = KeptReceipts::new(state, &config.name, &config.uid);
        let plugin: Arc<str> = config.name.as_str().into();
        let span = info_span!("receipts", plugin = &*plugin);
        let shared = Arc::new(Shared {
            plugin,
            receipts: Receipts::default(),
            store,
            problem: Mutex::default(),
            holds_back: AtomicBool::new(false),
        });
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (running, token) = (Arc::clone(&shared), stop.clone());
        tasks.spawn(async move { running.run(token).await }.instrument(span));
        tasks.close();
        let kept = Self { shared, tasks, stop };
        kept.configure(config);
        kept
    }

    /// Keeps the receipts of the subscriptions of this configuration, and removes those of all others.
    pub(super) fn configure(&self, config: &config::Plugin) {
        let subscriptions = config.subscriptions.iter();
        let kept = subscriptions.filter(|on| on.filter.initial == Initial::Changed);
        self.shared.receipts.keep(kept.map(|on| Source::new(on.watch.clone())));
    }

    /// The receipts that the queue and the filters report to.
    pub(in crate::app) fn receipts(&self) -> &Receipts {
        &self.shared.receipts
    }

    /// The receipts of this resource from an earlier process. If they cannot be read, every object is delivered, and the receipts
    /// on disk stay for the next start.
    ///
    /// # Blocking
    /// It reads from disk.
    pub(super) fn load(&self, source: &Source) -> HashMap<ObjectKey, Receipt> {
        let Shared { plugin, store, holds_back, .. } = &*self.shared;
        let receipts = store.load(source).unwrap_or_else(|error| {
            tracing::error!(plugin = &**plugin, resource = %source, %error, "the acknowledgements of the plugin cannot be read: every object is delivered");
            HashMap::new()
        });
        holds_back.fetch_or(!receipts.is_empty(), Ordering::Relaxed);
        receipts
    }

    /// Returns true if an earlier process left receipts, so that the plugin may not have received every object in this one.
    pub(super) fn holds_back(&self) -> bool {
        self.shared.holds_back.load(Ordering::Relaxed)
    }

    /// Returns true if the component of the earlier process had another digest than this one, or if the earlier digest cannot be read.
    /// The host calls this for the first version that it puts into service after its start.
    ///
    /// # Blocking
    /// It reads from disk.
    pub(super) fn is_another(&self, digest: &str) -> bool {
        let Shared { plugin, store, .. } = &*self.shared;
        store.component().map_or_else(
            |error| {
                tracing::error!(plugin = &**plugin, %error, "the version that gave the acknowledgements cannot be read: every object is delivered");
                true
            },
            |before| before.is_some_and(|before| before != digest),
        )
    }

    /// Records that the component with this digest gives the receipts from now on, if any are kept. The next start of the host compares
    /// the component of the plugin with the recorded component.
    pub(super) fn record(&self, digest: &str) {
        if self.shared.receipts.keeps_any() {
            self.shared.receipts.set_component(digest);
        }
    }

    /// The receipts that are kept now, for the status.
    pub(in crate::app) fn kept(&self) -> types::Receipts {
        let Shared { receipts, store, problem, .. } = &*self.shared;
        let ReceiptsSize { objects, bytes } = store.size();
        types::Receipts { objects, bytes, unwritten: receipts.unwritten(), failing: problem.lock().clone() }
    }

    /// Writes the remaining receipts, and ends. Call it after the last call of the plugin.
    pub(super) async fn stop(&self, deadline: Instant) {
        self.stop.cancel();
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::error!(
                plugin = &*self.shared.plugin,
                "the last acknowledgements were not written in time: their objects are delivered again"
            );
        }
    }
}

impl Drop for ReceiptKeeper {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// === impl Shared ===

impl Shared {
    /// Writes receipts until `stop` is cancelled, and then the remaining ones.
    async fn run(&self, stop: CancellationToken) {
        let mut wait = WRITE_AFTER;
        loop {
            let due = async {
                self.receipts.filled().await;
                sleep(wait).await;
            };
            let stopped = stop.run_until_cancelled(due).await.is_none();
            // `stop` ends the waits but never a write.
            let written = self.write_all().await;
            if stopped {
                return;
            }
            wait = if written { WRITE_AFTER } else { RETRY_EVERY };
        }
    }

    /// Writes until nothing is left. Returns false if that failed.
    async fn write_all(&self) -> bool {
        while let Some(batch) = self.receipts.take(BATCH) {
            let batch = Arc::new(batch);
            match self.store.write(&batch).await {
                Ok(waiting) => {
                    waiting.into_iter().for_each(|(source, skips)| self.receipts.wait(&source, skips));
                }
                Err(error) => {
                    // No other task has it now, unless the host is stopping.
                    self.receipts.put_back(Arc::unwrap_or_clone(batch));
                    return self.failed(&error.to_string());
                }
            }
        }
        if self.problem.lock().take().is_some() {
            tracing::info!("acknowledgements are written again");
        }
        true
    }

    fn failed(&self, why: &str) -> bool {
        if self.receipts.keeps_any() && self.problem.lock().replace(why.to_owned()).is_none() {
            tracing::error!(
                why,
                "acknowledgements are in memory only: after a restart their objects are delivered again"
            );
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::app::applier::tests::config;

    #[tokio::test]
    async fn a_version_counts_as_another_one_if_the_one_before_cannot_be_read() {
        let config = config("").plugins.remove(0);
        let new = ReceiptKeeper::start(&config, State::open(None));
        assert!(!new.is_another("digest"), "a new database has none");

        // No directory can be created below a file.
        let unreadable = State::open(Some(Path::new("/dev/null/state")));
        assert!(ReceiptKeeper::start(&config, unreadable).is_another("digest"));
    }
}
