//! The difference between two configurations.

use std::collections::BTreeMap;

use informer_cache::WatchConfig;
use informer_telemetry::Settings;
use informer_types::Gvr;

use super::settings;
use crate::{
    admin::types::{Report, Verdict},
    config::{Cluster, Config, Host, Plugin, read_authorities},
};

/// The difference between the configuration in force and a new one. At the start no configuration is in force.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) watches: Difference<Gvr>,
    /// Plugins by name.
    pub(super) plugins: Difference<String>,
}

/// Keys that only the new configuration has, only the old one has, and that both have with another value.
#[derive(Debug, PartialEq)]
pub(super) struct Difference<K> {
    pub(super) added: Vec<K>,
    pub(super) removed: Vec<K>,
    pub(super) changed: Vec<K>,
}

/// The sections that the host started with, and the content of a file that they name.
#[derive(Debug, PartialEq)]
pub(super) struct Started {
    /// The content of `http-ca`; `None` without the key, or if the file could not be read.
    authorities: Option<Vec<u8>>,
    pub(super) cluster: Cluster,
    pub(super) host: Host,
    pub(super) telemetry: Option<Settings>,
}

/// The changed keys that are read only at the start, as they are written in the file.
pub(super) fn needs_restart(started: &Started, new: &Config) -> Vec<&'static str> {
    let Config { cluster, host: new, telemetry, .. } = new;
    let Started { cluster: old_cluster, host: old, telemetry: old_telemetry, authorities: _ } = started;
    // Each key is named here, so a new one does not compile until it is decided whether it applies without a restart.
    let Host {
        admin,
        health,
        metrics_auth,
        log: _,
        log_format,
        shutdown_timeout: _,
        lease,
        lease_duration,
        cache_dir,
        state_dir,
        component_bytes,
        compile_timeout,
        compile_memory,
        guest_memory,
        cache_memory,
        http_deny,
        http_ca,
        trace,
    } = old;
    let same = [
        ("[cluster]", old_cluster == cluster),
        ("[telemetry]", old_telemetry == telemetry),
        ("[host] admin", *admin == new.admin),
        ("[host] health", *health == new.health),
        ("[host] metrics-auth", *metrics_auth == new.metrics_auth),
        ("[host] log-format", *log_format == new.log_format),
        ("[host] lease", *lease == new.lease),
        ("[host] lease-duration", *lease_duration == new.lease_duration),
        ("[host] cache-dir", *cache_dir == new.cache_dir),
        ("[host] state-dir", *state_dir == new.state_dir),
        ("[host] http-deny", *http_deny == new.http_deny),
        ("[host] http-ca", *http_ca == new.http_ca),
        ("[host] component-size", *component_bytes == new.component_bytes),
        ("[host] compile-timeout", *compile_timeout == new.compile_timeout),
        ("[host] compile-memory", *compile_memory == new.compile_memory),
        ("[host] guest-memory", *guest_memory == new.guest_memory),
        ("[host] cache-memory", *cache_memory == new.cache_memory),
        ("[host] trace", *trace == new.trace),
    ];
    same.into_iter().filter_map(|(key, same)| (!same).then_some(key)).collect()
}

/// Notes the changed keys that concern no watch and no plugin of the file.
pub(super) fn note_keys(old: &Config, new: &Config, report: &mut Report) {
    let same = [
        ("[host] shutdown-timeout", old.host.shutdown_timeout == new.host.shutdown_timeout),
        ("[tenancy]", old.tenancy == new.tenancy),
    ];
    for (key, _) in same.into_iter().filter(|(_, same)| !same) {
        report.note("key", key, Verdict::Changed, "");
    }
}

// === impl Started ===

impl Started {
    /// Reads the file of `http-ca`. Blocks.
    pub(super) fn of(config: &Config) -> Self {
        let Config { cluster, host, telemetry, .. } = config.clone();
        let authorities = host.http_ca.as_ref().and_then(|file| read_authorities(file).ok());
        Self { authorities, cluster, host, telemetry }
    }

    /// Returns true if `http-ca` names the file of the start, and the file has other content than at the start. A file that cannot
    /// be read counts as unchanged, because another file may be about to replace this file. Blocks.
    pub(super) fn has_other_authorities(&self, host: &Host) -> bool {
        let same = host.http_ca.as_ref().filter(|file| self.host.http_ca.as_ref() == Some(*file));
        let now = same.and_then(|file| read_authorities(file).ok());
        now.is_some() && now != self.authorities
    }
}

// === impl Plan ===

impl Plan {
    pub(super) fn between(old: Option<&Config>, new: &Config) -> Self {
        let watches = |config: Option<&Config>| config.map(settings::watches).unwrap_or_default();
        let plugins = |config: Option<&Config>| -> BTreeMap<String, Plugin> {
            let plugins = config.map(|config| config.plugins.clone()).unwrap_or_default();
            plugins.into_iter().map(|plugin| (plugin.name.clone(), plugin)).collect()
        };
        let watched: (BTreeMap<Gvr, WatchConfig>, _) = (watches(old), watches(Some(new)));
        let (old, new) = (plugins(old), plugins(Some(new)));
        let mut plugins = Difference::between(&old, &new);
        // A Plugin object that was deleted and created anew is another plugin.
        let uid = |of: &BTreeMap<String, Plugin>, name: &str| of.get(name).map(|plugin| plugin.uid.clone());
        for name in plugins.changed.extract_if(.., |name| uid(&old, name) != uid(&new, name)) {
            plugins.removed.push(name.clone());
            plugins.added.push(name);
        }
        Self { watches: Difference::between(&watched.0, &watched.1), plugins }
    }

    /// Returns true if the plugin of this name is removed or changed.
    pub(super) fn affects(&self, plugin: &str) -> bool {
        self.plugins.removed.iter().chain(&self.plugins.changed).any(|name| name == plugin)
    }
}

// === impl Difference ===

impl<K: Ord + Clone> Difference<K> {
    fn between<V: PartialEq>(old: &BTreeMap<K, V>, new: &BTreeMap<K, V>) -> Self {
        let keys = |of: &BTreeMap<K, V>, wanted: &dyn Fn(&K, &V) -> bool| -> Vec<K> {
            of.iter().filter(|(key, value)| wanted(key, value)).map(|(key, _)| key.clone()).collect()
        };
        Self {
            added: keys(new, &|key, _| !old.contains_key(key)),
            removed: keys(old, &|key, _| !new.contains_key(key)),
            changed: keys(new, &|key, value| old.get(key).is_some_and(|before| before != value)),
        }
    }
}

#[cfg(test)]
mod tests;
