//! The checks of the probes, in words that name no object and repeat no text of others.

use informer_cache::InformerStatus;

use super::HostProbe;
use crate::{
    admin::{Check, Outcome},
    app::running_plugin::RunningPlugin,
};

/// The watches that plugins wait for, the plugins in the order of the configuration, the state and the configuration file.
pub(super) fn readiness(host: &HostProbe) -> Vec<Check> {
    let watches = host.awaited(false).into_iter().map(|informer| watch(&informer.status()));
    let plugins = host.plugins.all();
    let plugins = plugins.iter().map(|one| plugin(one));
    let state = host.state.problem().map(|_| "it cannot be used, so nothing is kept");
    let file = host.reload.refused().map(|_| "the file is refused, so the one in force stays");
    let others = [("state", state), ("configuration", file)];
    let others = others.map(|(what, problem)| check(what, problem.map_or(Outcome::Ok, Outcome::Impaired)));
    watches.chain(plugins).chain(others).collect()
}

/// The informers that a bug ends again and again: only a new process may help.
pub(super) fn liveness(host: &HostProbe) -> Vec<Check> {
    let informers = host.informers().into_iter().map(|informer| informer.status());
    let check = |status: InformerStatus| {
        let ends = Outcome::Failed("a bug of the host ends it again and again");
        check(&format!("watch {}", status.key.gvr), if status.keeps_ending { ends } else { Outcome::Ok })
    };
    informers.map(check).collect()
}

fn watch(status: &InformerStatus) -> Check {
    let outcome = if !status.synced {
        Outcome::Failed("its first list is not in the cache")
    } else if status.troubles().is_empty() {
        Outcome::Ok
    } else {
        Outcome::Impaired("something is wrong with it, see `informer status`")
    };
    check(&format!("watch {}", status.key.gvr), outcome)
}

fn plugin(plugin: &RunningPlugin) -> Check {
    let outcome = if plugin.plugin().version().is_none() {
        Outcome::Failed("it has no version in service")
    } else if super::quarantines(plugin).next().is_some() {
        Outcome::Impaired("it is in quarantine")
    } else if plugin.versions().refused().is_some() {
        Outcome::Impaired("its new version is refused, so the one in service stays")
    } else {
        Outcome::Ok
    };
    check(&format!("plugin {}", plugin.name()), outcome)
}

fn check(what: &str, outcome: Outcome) -> Check {
    Check { what: what.to_owned(), outcome }
}
