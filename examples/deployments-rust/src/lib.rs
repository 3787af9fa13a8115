//! Prints each change of a deployment. Once, after the first sync, it lists the deployments of one namespace.
//!
//! `examples/README.md` describes the lines. The examples in the other languages print the same lines.

mod line;

use informer_sdk::lister::{self, Selector};
use informer_sdk::{Cause, Config, Event, Handler, Result, Update, log};

const DEPLOYMENTS: &str = "apps/v1/deployments";
const NAMESPACE: &str = "default";

/// The plugin. Its only state is whether it printed the list.
#[derive(Debug, Default)]
pub struct Deployments {
    listed: bool,
}

informer_sdk::export!(Deployments);

// === impl Deployments ===

impl Handler for Deployments {
    fn start(_config: Config) -> std::result::Result<Self, String> {
        Ok(Self::default())
    }

    fn on_add(&mut self, object: Event, cause: Cause) -> Result {
        log::info!("{}", line::added(object.meta(), cause));
        self.list_once()
    }

    fn on_update(&mut self, update: Update, cause: Cause) -> Result {
        log::info!("{}", line::updated(&update.old.meta()?, update.new.meta(), cause));
        self.list_once()
    }

    fn on_delete(&mut self, object: Event, final_state_known: bool) -> Result {
        log::info!("{}", line::deleted(object.meta(), final_state_known));
        self.list_once()
    }
}

impl Deployments {
    /// Prints the deployments of the namespace once, as soon as the cache holds all of them.
    fn list_once(&mut self) -> Result {
        if self.listed || !lister::has_synced(DEPLOYMENTS)? {
            return Ok(());
        }
        let selector = Selector::all().namespace(NAMESPACE);
        let found: std::result::Result<Vec<_>, _> = lister::list_meta(DEPLOYMENTS, &selector).collect();
        for line in line::listing(NAMESPACE, &found?) {
            log::info!("{line}");
        }
        self.listed = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
