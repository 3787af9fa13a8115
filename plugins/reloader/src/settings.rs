//! `[plugin.config]`.

use std::time::Duration;

use serde::Deserialize;

use crate::{
    http::is_url,
    kind::{SourceKind, WorkloadKind},
    selector::Selector,
    span::Span,
    window::Window,
};

/// The table `[plugin.config]`. Unknown keys are errors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Settings {
    /// If true, workloads without an annotation of their own are treated as `auto: "true"`.
    pub(crate) auto_reload_all: bool,
    pub(crate) reload_strategy: Strategy,
    /// If true, the creation of a source counts as a change.
    pub(crate) reload_on_create: bool,
    /// If true, the deletion of a source counts as a change.
    pub(crate) reload_on_delete: bool,
    resources_to_ignore: Option<Ignored>,
    ignored_workload_types: Vec<Plural>,
    /// Only workloads of these namespaces are rolled. Empty means all.
    namespaces: Vec<String>,
    namespaces_to_ignore: Vec<String>,
    /// Only workloads of namespaces with these labels are rolled.
    pub(crate) namespace_selector: Selector,
    /// Only changes of sources with these labels count.
    pub(crate) resource_label_selector: Selector,
    /// The time between the first change that is found and the roll, so that further changes join it.
    settle: Span,
    /// The times at which workloads may be rolled. Empty means always.
    pub(crate) windows: Vec<Window>,
    /// The most rolls within a minute. 0 means no limit.
    pub(crate) rolls_per_minute: u32,
    /// The most workloads whose rollouts are under way. 0 means no limit.
    pub(crate) rolls_at_a_time: u32,
    /// A request to this URL replaces each roll.
    pub(crate) webhook_url: Option<String>,
    pub(crate) alert: Option<Alert>,
    /// If true, reloads are counted by namespace as well.
    pub(crate) count_by_namespace: bool,
    /// If true, each roll has an Event. A failed roll always has one.
    pub(crate) roll_events: bool,
    pub(crate) annotations: Names,
}

/// What a roll changes in the pod template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Strategy {
    #[default]
    EnvVars,
    Annotations,
}

/// A destination for a message after each reload.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Alert {
    #[serde(default)]
    pub(crate) sink: Sink,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) additional_info: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sink {
    #[default]
    Webhook,
    Slack,
    Teams,
    Gchat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Ignored {
    #[serde(rename = "configMaps", alias = "configmaps")]
    ConfigMaps,
    #[serde(rename = "secrets")]
    Secrets,
}

/// A kind of workload by its plural, such as `cronjobs`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Plural(WorkloadKind);

/// The keys of the annotations. Each of them can be renamed, as in the original.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Names {
    pub(crate) auto: String,
    pub(crate) configmap_auto: String,
    pub(crate) secret_auto: String,
    pub(crate) configmap_reload: String,
    pub(crate) secret_reload: String,
    pub(crate) configmaps_exclude: String,
    pub(crate) secrets_exclude: String,
    pub(crate) search: String,
    #[serde(rename = "match")]
    pub(crate) matched: String,
    pub(crate) ignore: String,
    pub(crate) pause_period: String,
    pub(crate) paused_at: String,
    pub(crate) rollout_strategy: String,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            auto_reload_all: false,
            reload_strategy: Strategy::default(),
            reload_on_create: false,
            reload_on_delete: false,
            resources_to_ignore: None,
            ignored_workload_types: Vec::new(),
            namespaces: Vec::new(),
            namespaces_to_ignore: Vec::new(),
            namespace_selector: Selector::default(),
            resource_label_selector: Selector::default(),
            settle: Span(Duration::from_secs(2)),
            windows: Vec::new(),
            rolls_per_minute: 0,
            rolls_at_a_time: 0,
            webhook_url: None,
            alert: None,
            count_by_namespace: false,
            roll_events: true,
            annotations: Names::default(),
        }
    }
}

impl Settings {
    /// Refuses URLs that no request can be sent to.
    pub(crate) fn check(&self) -> Result<(), String> {
        let alert = self.alert.as_ref().map(|alert| ("alert.url", &alert.url));
        for (key, url) in self.webhook_url.as_ref().map(|url| ("webhook-url", url)).into_iter().chain(alert) {
            if !is_url(url) {
                return Err(format!("{key}: a URL with http or https and a host is needed"));
            }
        }
        Ok(())
    }

    /// Returns true if workloads of this kind are rolled.
    pub(crate) fn rolls(&self, kind: WorkloadKind) -> bool {
        self.ignored_workload_types.iter().all(|ignored| ignored.0 != kind)
    }

    /// Returns true if changes of sources of this kind count.
    pub(crate) fn reads(&self, kind: SourceKind) -> bool {
        match self.resources_to_ignore {
            Some(Ignored::ConfigMaps) => kind != SourceKind::ConfigMap,
            Some(Ignored::Secrets) => kind != SourceKind::Secret,
            None => true,
        }
    }

    /// Returns true if workloads of this namespace are rolled, as far as the lists of namespaces decide it.
    pub(crate) fn covers(&self, namespace: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|own| own == namespace);
        !listed(&self.namespaces_to_ignore) && (self.namespaces.is_empty() || listed(&self.namespaces))
    }

    pub(crate) fn settle(&self) -> Duration {
        self.settle.0
    }
}

// === impl Plural ===

impl TryFrom<String> for Plural {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let known = WorkloadKind::ALL.into_iter().find(|kind| kind.plural() == text.to_lowercase());
        known.map(Self).ok_or_else(|| {
            let all = WorkloadKind::ALL.map(WorkloadKind::plural).join(", ");
            format!("`{text}` is not a type of workload: write one of {all}")
        })
    }
}

// === impl Names ===

impl Default for Names {
    fn default() -> Self {
        let name = |prefix: &str, word: &str| format!("{prefix}reloader.stakater.com/{word}");
        Self {
            auto: name("", "auto"),
            configmap_auto: name("configmap.", "auto"),
            secret_auto: name("secret.", "auto"),
            configmap_reload: name("configmap.", "reload"),
            secret_reload: name("secret.", "reload"),
            configmaps_exclude: name("configmaps.exclude.", "reload"),
            secrets_exclude: name("secrets.exclude.", "reload"),
            search: name("", "search"),
            matched: name("", "match"),
            ignore: name("", "ignore"),
            pause_period: name("deployment.", "pause-period"),
            paused_at: name("deployment.", "paused-at"),
            rollout_strategy: name("", "rollout-strategy"),
        }
    }
}
