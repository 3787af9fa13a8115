//! The tables of the file: every key with its type, default, bounds and documentation.
//!
//! A key is declared once, in the table of its section below this module, and fills one field.

mod cluster;
mod defaults;
mod grant;
mod host;
mod limits;
mod on;
mod plugin;
mod quarantine;
mod queue;
mod reload;
mod retry;
mod watch;
mod workqueue;

pub(super) use self::{
    cluster::ClusterKeys, defaults::Common, grant::GrantKeys, host::HostKeys, on::OnKeys, plugin::PluginKeys,
    queue::QueueKeys, watch::WatchKeys,
};
use super::key::{Draft, Section, Sub, Subs};

/// The whole file as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct FileKeys {
    pub(super) cluster: Draft<ClusterKeys>,
    pub(super) host: Draft<HostKeys>,
    pub(super) defaults: Draft<Common>,
    pub(super) watches: Vec<Draft<WatchKeys>>,
    pub(super) plugins: Vec<Draft<PluginKeys>>,
}

/// The top level. `[defaults]` is read before the plugins that it applies to.
pub(super) static FILE: Section<FileKeys> = Section {
    doc: "",
    keys: &[
        &Sub { name: "cluster", section: &cluster::CLUSTER, get: |file: &mut FileKeys| &mut file.cluster },
        &Sub { name: "host", section: &host::HOST, get: |file: &mut FileKeys| &mut file.host },
        &Subs {
            name: "watch",
            section: &watch::WATCH,
            new: |_: &FileKeys| WatchKeys::default(),
            push: |file: &mut FileKeys, watch| file.watches.push(watch),
        },
        &Sub {
            name: "defaults",
            section: &defaults::DEFAULTS,
            get: |file: &mut FileKeys| &mut file.defaults,
        },
        &Subs {
            name: "plugin",
            section: &plugin::PLUGIN,
            new: |file: &FileKeys| PluginKeys::with(&file.defaults.value),
            push: |file: &mut FileKeys, plugin| file.plugins.push(plugin),
        },
    ],
};
