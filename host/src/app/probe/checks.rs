//! The checks of the probes, in words that name no object and repeat no text of others.

use informer_cache::{InformerKey, InformerStatus, SharedInformer};

use super::plugin::workqueue;
use crate::{
    admin::{Check, Outcome},
    app::running_plugin::RunningPlugin,
};

/// The checks of liveness. An informer that bugs end again and again fails, because only a new process may help.
pub(super) fn liveness(informers: &[SharedInformer]) -> Vec<Check> {
    let ends = Outcome::Failed("a bug of the host ends it again and again");
    let outcome = |informer: &SharedInformer| if informer.keeps_ending() { ends } else { Outcome::Ok };
    informers.iter().map(|informer| named(informer.key(), outcome(informer))).collect()
}

/// The check of a host that stops. It fails, so that nothing waits for the host to become ready. Returns `None` while the host runs.
pub(super) fn stopping(stops: bool) -> Option<Check> {
    stops.then(|| check("host", Outcome::Failed("it stops")))
}

/// The check of an informer that plugins wait for.
pub(super) fn watch(status: &InformerStatus) -> Check {
    let outcome = if !status.synced {
        Outcome::Failed("its first list is not in the cache")
    } else if status.troubles().is_empty() {
        Outcome::Ok
    } else {
        Outcome::Impaired("something is wrong with it, see `informer status`")
    };
    named(&status.key, outcome)
}

/// The check of a plugin of the configuration. A host that stands by has no version in service, and needs none.
pub(super) fn plugin(plugin: &RunningPlugin, stands_by: bool) -> Check {
    let is_loaded = plugin.plugin().version().is_some();
    let outcome = if !(is_loaded || stands_by && plugin.versions().refused().is_none()) {
        Outcome::Failed("it has no version in service")
    } else if quarantines(plugin).next().is_some() {
        Outcome::Impaired("it is in quarantine")
    } else if plugin.versions().refused().is_some() {
        Outcome::Impaired("its new version is refused, so the one in service stays")
    } else {
        Outcome::Ok
    };
    check(&format!("plugin {}", plugin.name()), outcome)
}

/// The check of the database.
pub(super) fn state(fails: bool) -> Check {
    let outcome =
        if fails { Outcome::Impaired("it cannot be used, so nothing is kept") } else { Outcome::Ok };
    check("state", outcome)
}

/// The check of the kinds that patterns stand for. Returns `None` if nothing is wrong with them.
pub(super) fn kinds(are_awaited: bool, are_outdated: bool) -> Option<Check> {
    let outcome = match (are_awaited, are_outdated) {
        (true, _) => Outcome::Failed("plugins wait until they are known"),
        (false, true) => Outcome::Impaired("some cannot be looked up, so watches of them stay as they were"),
        (false, false) => return None,
    };
    Some(check("served kinds", outcome))
}

/// The check of the configuration file.
pub(super) fn configuration(is_refused: bool) -> Check {
    let refused = Outcome::Impaired("the file is refused, so the one in force stays");
    check("configuration", if is_refused { refused } else { Outcome::Ok })
}

/// A sentence if the plugin is in quarantine, one if its reconciler is, and one if its signals are.
pub(super) fn quarantines(plugin: &RunningPlugin) -> impl Iterator<Item = String> {
    let name = plugin.name();
    let handler = plugin.queue().stats().quarantine;
    let handler = handler.map(|one| format!("plugin {name}: {}", one.text));
    let reconciler = workqueue(plugin).quarantine;
    let reconciler = reconciler.map(|one| format!("plugin {name}: its reconciler is {}", one.text));
    let signals = plugin.signals().queue().stats().quarantine;
    let signals = signals.map(|one| format!("plugin {name}: its signals are {}", one.text));
    handler.into_iter().chain(reconciler).chain(signals)
}

fn named(watch: &InformerKey, outcome: Outcome) -> Check {
    check(&format!("watch {}", watch.gvr), outcome)
}

fn check(what: &str, outcome: Outcome) -> Check {
    Check { what: what.to_owned(), outcome }
}
