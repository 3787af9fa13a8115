//! Watches that no plugin uses.

use std::collections::BTreeSet;

use informer_cache::InformerFactory;
use informer_types::Gvr;

use crate::config::{Config, Plugin};

/// The watches and patterns that were unused when the host last applied the configuration. The host applies the configuration at each
/// change of a Plugin object, and the log names an unused watch only once.
#[derive(Default)]
pub(super) struct Unused(BTreeSet<Gvr>);

// === impl Unused ===

impl Unused {
    /// Logs each watch that no plugin uses and that no Plugin object may use. A watch that was unused at the last call is not logged
    /// again.
    pub(super) fn warn(&mut self, file: &Config, config: &Config, factory: &InformerFactory) {
        for gvr in self.become_new(unused(file, config, factory)) {
            if gvr.is_pattern() {
                tracing::warn!(resource = %gvr, "no plugin uses this pattern, so nothing is watched for it");
            } else {
                tracing::warn!(resource = %gvr, "no plugin subscribes to this watch or may read it, so it is not started");
            }
        }
    }

    /// Keeps the unused watches, and returns the watches among them that were in use at the last call or are new.
    fn become_new(&mut self, unused: BTreeSet<Gvr>) -> Vec<Gvr> {
        let new = unused.difference(&self.0).cloned().collect();
        self.0 = unused;
        new
    }
}

fn unused(file: &Config, config: &Config, factory: &InformerFactory) -> BTreeSet<Gvr> {
    let used: Vec<&Gvr> = file.plugins.iter().flat_map(Plugin::patterns).collect();
    let patterns = file.watches.iter().map(|watch| &watch.gvr);
    let patterns = patterns.filter(|gvr| gvr.is_pattern() && !used.contains(gvr));
    let informers = factory.informers();
    let waits =
        |gvr: &Gvr| config.tenancy.as_ref().is_some_and(|tenancy| tenancy.read.namespaces(gvr).is_some());
    let idle = config.watches.iter().map(|watch| &watch.gvr).filter(|gvr| !waits(gvr));
    let idle = idle.filter(|gvr| informers.iter().all(|informer| informer.key().gvr != **gvr));
    patterns.chain(idle).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenant may change its Plugin every second.
    #[test]
    fn an_unused_watch_is_logged_again_only_after_it_was_used() {
        let set = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<BTreeSet<Gvr>>();
        let (pods, both) = (set(&["v1/pods"]), set(&["v1/pods", "v1/secrets"]));
        let mut unused = Unused::default();
        let mut new = |now: &BTreeSet<Gvr>| unused.become_new(now.clone()).len();

        assert_eq!([new(&pods), new(&pods), new(&both), new(&both)], [1, 0, 1, 0]);
        assert_eq!([new(&set(&[])), new(&both)], [0, 2]);
    }
}
