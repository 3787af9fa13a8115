//! `[[plugin]]`

use std::time::Duration;

use informer_runtime::LogLevel;

use super::{
    defaults::Common,
    grant::{GRANT, GrantKeys},
    limits::LIMITS,
    on::{ON, OnKeys},
    quarantine::QUARANTINE,
    queue::QUEUE,
    reload::RELOAD,
    retry::RETRY,
    workqueue::WORKQUEUE,
};
use crate::config::{
    key::{
        Draft, Free, Key, List, Section,
        Shown::{ByDefault, ByDefaultAnd, Example, Required},
        Sub, Subs,
    },
    plugin::{OnReload, default_idle_timeout},
    table::Located,
    value::{Count, InstanceKind, Name, PathText, Scalar},
};

/// `[[plugin]]` as it is written.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct PluginKeys {
    pub(in crate::config) name: Option<Located<Name>>,
    pub(in crate::config) source: Option<Located<PathText>>,
    pub(in crate::config) config_files: Vec<Located<PathText>>,
    pub(in crate::config) log_level: Option<LogLevel>,
    pub(in crate::config) instance: Option<InstanceKind>,
    pub(in crate::config) max_calls: Option<Located<Count>>,
    pub(in crate::config) idle_timeout: Option<Located<Duration>>,
    pub(in crate::config) on_reload: OnReload,
    pub(in crate::config) on: Vec<Draft<OnKeys>>,
    pub(in crate::config) common: Common,
    pub(in crate::config) grant: Draft<GrantKeys>,
    pub(in crate::config) config_json: Option<String>,
}

type K<V> = Key<PluginKeys, V>;

pub(super) static PLUGIN: Section<PluginKeys> = Section {
    doc: "One plugin: a WebAssembly component, the objects it is notified of, and what it may use.",
    keys: &[
        &K::<Name> {
            name: "name",
            doc: "The name of the plugin in logs, metrics and commands: up to 63 lower-case letters, digits and `-`. No \
                  two plugins have the same name.",
            shown: Required("\"deployments\""),
            bounds: None,
            set: |keys, it| keys.name = Some(it),
        },
        &K::<PathText> {
            name: "source",
            doc: "The file of the component. If the file changes, the host loads the new version.",
            shown: Required("\"target/wasm32-wasip2/plugin/deployments_rust.wasm\""),
            bounds: None,
            set: |keys, it| keys.source = Some(it),
        },
        &List::<PluginKeys, PathText> {
            name: "config-files",
            doc: "Files that extend [plugin.config], each under its own name, and directories of such files, as \
                  ConfigMaps and Secrets are mounted. They are read each time the plugin reads its configuration \
                  (`wasi:config`) and for each new instance, so a change needs no restart.",
            shown: ByDefaultAnd(|_| "[]".to_owned(), "[\"/etc/informer/hello\", \"/run/secrets/token\"]"),
            set: |keys, it| keys.config_files = it.value,
        },
        &K::<LogLevel> {
            name: "log-level",
            doc: "The least severe log lines of this plugin to keep: trace, debug, info, warn or error. Default: what \
                  `log` of [host] keeps of the target `plugin`. `informer log-level` changes both while the host runs.",
            shown: Example("\"debug\""),
            bounds: None,
            set: |keys, it| keys.log_level = Some(it.value),
        },
        &K::<InstanceKind> {
            name: "instance",
            doc: "How long an instance of the component lives. \"warm\" instances serve one call after another. With \
                  \"fresh\" each call gets its own instance. An instance that traps, exceeds its deadline or is refused \
                  memory ends at once.",
            shown: ByDefault(|_| Scalar::shown(&InstanceKind::Warm)),
            bounds: None,
            set: |keys, it| keys.instance = Some(it.value),
        },
        &K::<Count> {
            name: "max-calls",
            doc: "Calls after which a warm instance ends. 0 means no limit.",
            shown: ByDefault(|_| "0".to_owned()),
            bounds: None,
            set: |keys, it| keys.max_calls = Some(it),
        },
        &K::<Duration> {
            name: "idle-timeout",
            doc: "Time without a call after which a warm instance ends and frees its memory. \"0s\" means never.",
            shown: ByDefault(|_| Scalar::shown(&default_idle_timeout())),
            bounds: None,
            set: |keys, it| keys.idle_timeout = Some(it),
        },
        &K::<OnReload> {
            name: "on-reload",
            doc: "What a new version of the component receives about existing objects. \"keep\": nothing; it continues \
                  where the previous version stopped. \"replay\": every object once more, as an addition with the cause \
                  `replay`. Choose \"replay\" for plugins that keep state in memory.",
            shown: ByDefault(|keys| Scalar::shown(&keys.on_reload)),
            bounds: None,
            set: |keys, it| keys.on_reload = it.value,
        },
        &Subs {
            name: "on",
            section: &ON,
            new: |_: &PluginKeys| OnKeys::default(),
            push: |keys: &mut PluginKeys, on| keys.on.push(on),
        },
        &Sub { name: "queue", section: &QUEUE, get: |keys: &mut PluginKeys| &mut keys.common.queue },
        &Sub {
            name: "workqueue",
            section: &WORKQUEUE,
            get: |keys: &mut PluginKeys| &mut keys.common.workqueue,
        },
        &Sub { name: "retry", section: &RETRY, get: |keys: &mut PluginKeys| &mut keys.common.retry },
        &Sub {
            name: "quarantine",
            section: &QUARANTINE,
            get: |keys: &mut PluginKeys| &mut keys.common.quarantine,
        },
        &Sub { name: "reload", section: &RELOAD, get: |keys: &mut PluginKeys| &mut keys.common.reload },
        &Sub { name: "limits", section: &LIMITS, get: |keys: &mut PluginKeys| &mut keys.common.limits },
        &Sub { name: "grant", section: &GRANT, get: |keys: &mut PluginKeys| &mut keys.grant },
        &Free::<PluginKeys> {
            name: "config",
            doc: "The plugin's own configuration. It is passed to the plugin as JSON at the start, and served through \
                  `wasi:config`: there `a.b` is the text at `b` in the table `a`. Default: empty.",
            set: |keys, it| keys.config_json = Some(it),
        },
    ],
};

// === impl PluginKeys ===

impl PluginKeys {
    /// A plugin before its keys are read.
    pub(super) fn with(defaults: &Common) -> Self {
        Self { common: defaults.clone(), ..Self::default() }
    }
}
