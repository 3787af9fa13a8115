//! The pods controller of client-go's workqueue example. Handlers add keys to the queue. Workers take the keys, read the pod
//! from the cache and print it. A pod that cannot be synced is retried five times; then its key becomes a dead letter.
//!
//! A handler only records *which* pod changed. A worker reads the *current state* of the pod. So ten changes of one pod while its
//! key is pending cause one call of `reconcile`.

use informer_sdk::{
    Cause, Config, Controller, Event, Handler, ObjectKey, ReconcileError, ReconcileResult, Reconciled,
    Result, Update, lister, log, workqueue,
};

const PODS: &str = "v1/pods";

/// A pod with this annotation cannot be synced. The annotation simulates a downstream system that fails.
const BROKEN: &str = "/metadata/annotations/example.com~1broken";

/// The plugin. It has no state of its own: the queue and the cache have it all.
#[derive(Debug)]
pub struct Pods;

informer_sdk::export_controller!(Pods);

// === impl Pods ===

impl Handler for Pods {
    fn start(_config: Config) -> std::result::Result<Self, String> {
        Ok(Self)
    }

    fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
        Ok(workqueue::add(object.key())?)
    }

    fn on_update(&mut self, update: Update, _cause: Cause) -> Result {
        Ok(workqueue::add(update.new.key())?)
    }

    fn on_delete(&mut self, object: Event, _final_state_known: bool) -> Result {
        Ok(workqueue::add(object.key())?)
    }
}

impl Controller for Pods {
    fn reconcile(&mut self, key: &str) -> ReconcileResult {
        let Some([phase, broken]) =
            lister::get_fields(PODS, &key.parse::<ObjectKey>()?, ["/status/phase", BROKEN])?
        else {
            log::info!("pod {key} does not exist any more");
            return Ok(Reconciled::Done);
        };
        if let Some(why) = broken.parse::<String>()? {
            let tried = workqueue::num_requeues(key);
            log::warn!("error syncing pod {key}, retried {tried} times: {why}");
            return Err(ReconcileError::retry(why));
        }
        let phase: Option<String> = phase.parse()?;
        log::info!("sync of pod {key}: {}", phase.as_deref().unwrap_or("no phase yet"));
        Ok(Reconciled::Done)
    }
}

#[cfg(test)]
mod tests;
