//! From a configuration with patterns to one with single resources.

use informer_types::{Gvr, Namespaces, ReadGrant, WriteGrant};

use super::served::Served;
use crate::config::{Config, Plugin, Watch};

/// A kind of objects that some watch of the configuration may follow.
struct WatchedKind {
    /// All names of the kind, the preferred one first.
    names: Vec<Gvr>,
    /// `None` if the API server does not serve the kind.
    namespaced: Option<bool>,
    /// The watch of the configuration that names it, or the watch of a pattern that covers it.
    watch: Watch,
}

/// Puts single resources in the place of patterns: in watches, subscriptions and grants. A resource has the settings of its own
/// watch, or else of the narrowest pattern. A plugin that names a resource and a pattern that stands for it has the subscription
/// to the resource.
pub(in crate::app) fn expanded(file: &Config, served: &Served) -> Config {
    let (mut patterns, own): (Vec<&Watch>, Vec<&Watch>) =
        file.watches.iter().partition(|watch| watch.gvr.is_pattern());
    if patterns.is_empty() {
        return file.clone();
    }
    patterns.sort_by_key(|pattern| pattern.gvr.is_of_all_groups());
    let followed = all(&patterns, &own, served);
    let plugins: Vec<Plugin> =
        file.plugins.iter().map(|plugin| of_plugin(plugin, &patterns, &followed)).collect();
    let is_used = |watch: &Watch| {
        plugins.iter().any(|plugin| {
            plugin.may_read(&watch.gvr) || plugin.subscriptions.iter().any(|on| on.watch == watch.gvr)
        })
    };
    let is_new = |watch: &&Watch| own.iter().all(|own| own.gvr != watch.gvr);
    let new = followed.iter().map(|one| &one.watch).filter(is_new).filter(|watch| is_used(watch));
    let watches = own.iter().copied().chain(new).cloned().collect();
    Config { watches, plugins, ..file.clone() }
}

/// The resources that a pattern of the configuration stands for.
pub(in crate::app) fn meaning(file: &Config, pattern: &Watch, served: &Served) -> Vec<String> {
    let (patterns, own): (Vec<&Watch>, Vec<&Watch>) =
        file.watches.iter().partition(|watch| watch.gvr.is_pattern());
    let followed = all(&patterns, &own, served);
    let meant = followed.iter().filter(|one| stands_for(pattern, &one.names, one.namespaced));
    meant.map(|one| one.watch.gvr.to_string()).collect()
}

/// Each kind that the configuration watches or that a pattern stands for.
fn all(patterns: &[&Watch], own: &[&Watch], served: &Served) -> Vec<WatchedKind> {
    let is_named = |names: &[Gvr], watch: &Watch| names.iter().any(|name| name.covers(&watch.gvr));
    let of_kinds = served.kinds().iter().filter_map(|kind| {
        let (names, namespaced) = (kind.names.clone(), Some(kind.namespaced));
        if let Some(watch) = own.iter().find(|watch| is_named(&names, watch)) {
            return Some(WatchedKind { names, namespaced, watch: Watch::clone(watch) });
        }
        let pattern = patterns.iter().find(|pattern| stands_for(pattern, &names, namespaced))?;
        let watch = Watch { gvr: names.first()?.clone(), exclude: Vec::new(), ..Watch::clone(pattern) };
        Some(WatchedKind { names, namespaced, watch })
    });
    let unserved = own.iter().filter(|watch| served.kinds().iter().all(|kind| !is_named(&kind.names, watch)));
    let unserved = unserved.map(|watch| WatchedKind {
        names: vec![watch.gvr.clone()],
        namespaced: None,
        watch: Watch::clone(watch),
    });
    of_kinds.chain(unserved).collect()
}

fn of_plugin(plugin: &Plugin, patterns: &[&Watch], followed: &[WatchedKind]) -> Plugin {
    let mut plugin = plugin.clone();
    let of = |pattern: &Gvr| {
        let pattern = patterns.iter().find(|watch| watch.gvr == *pattern).copied();
        let stands_for = move |one: &&WatchedKind| {
            pattern.is_some_and(|pattern| stands_for(pattern, &one.names, one.namespaced))
        };
        pattern
            .into_iter()
            .flat_map(move |pattern| followed.iter().filter(stands_for).map(move |one| (pattern, one)))
    };
    let (mut written, mut all): (Vec<_>, Vec<_>) =
        plugin.subscriptions.into_iter().partition(|on| on.watch.is_pattern());
    written.sort_by_key(|on| on.watch.is_of_all_groups());
    for on in written {
        for (pattern, one) in of(&on.watch) {
            let is_there = all.iter().any(|other| one.names.iter().any(|name| name.covers(&other.watch)));
            // Nothing of it would be selected.
            let is_outside = on.selects_by_namespace() && one.namespaced == Some(false);
            if !is_there && !is_outside {
                all.push(on.of_pattern(pattern, &one.watch));
            }
        }
    }
    plugin.subscriptions = all;
    plugin.grants.read = plugin.grants.read.map(|read| {
        let lines = read.iter().flat_map(|(gvr, subresource, namespaces)| -> Vec<ReadGrant> {
            let line = ReadGrant {
                gvr: gvr.clone(),
                subresource: subresource.map(str::to_owned),
                namespaces: namespaces.clone(),
            };
            if !gvr.is_pattern() {
                return vec![line];
            }
            let single = of(gvr).filter_map(|(_, one)| {
                let namespaces = watched(&one.watch).intersection(namespaces)?;
                Some(ReadGrant { gvr: one.watch.gvr.clone(), namespaces, ..line.clone() })
            });
            single.collect()
        });
        lines.collect()
    });
    plugin.grants.write = plugin.grants.write.map(|write| {
        let lines = write.iter().flat_map(|line| -> Vec<WriteGrant> {
            if !line.gvr.is_pattern() {
                return vec![line.clone()];
            }
            of(&line.gvr).map(|(_, one)| WriteGrant { gvr: one.watch.gvr.clone(), ..line.clone() }).collect()
        });
        lines.collect()
    });
    plugin
}

/// Returns true if a pattern stands for the kind with these names.
fn stands_for(pattern: &Watch, names: &[Gvr], namespaced: Option<bool>) -> bool {
    // Objects without a namespace are in none of these.
    let is_outside = !pattern.namespaces.is_empty() && namespaced == Some(false);
    !is_outside && pattern.stands_for(names)
}

/// The namespaces that the watch covers. Live reads reach no further than the cache.
fn watched(watch: &Watch) -> Namespaces {
    if watch.namespaces.is_empty() {
        return Namespaces::All;
    }
    Namespaces::Only(watch.namespaces.iter().map(|name| name.as_str().into()).collect())
}

#[cfg(test)]
mod tests;
