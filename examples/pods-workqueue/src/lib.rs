//! The pods controller of client-go's workqueue example: handlers put keys into the queue, workers take them, read the
//! pod from the cache and print it. A pod that cannot be synced is tried five more times, then dropped out of the queue.
//!
//! The difference between a handler and a worker is what this is about. A handler only says *which* pod changed; a worker
//! looks *what* it is like by then. Ten changes that come while a key waits are one look.

use informer_sdk::{
    Cause, Config, Controller, Event, Handler, ObjectKey, ReconcileError, ReconcileResult, Reconciled,
    Result, Update, lister, log, workqueue,
};

const PODS: &str = "v1/pods";

/// Such a pod cannot be synced: the example's stand-in for a downstream that fails.
const BROKEN: &str = "/metadata/annotations/example.com~1broken";

/// The plugin. What it knows is in the queue and in the cache; it keeps nothing itself.
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
