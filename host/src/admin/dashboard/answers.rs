//! The other answers for the page, and the queries for them.

use serde::{Deserialize, Serialize};

use crate::admin::types::{Plugin, Report};

/// One plugin with its grants.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PluginDetail {
    /// The plugin as `GET /status` shows it, without its dead letters.
    pub plugin: Plugin,
    /// Its grants, and the number of their uses.
    pub grants: Vec<PluginGrant>,
    /// Half of the calls since the start took at most this long.
    pub p50_ms: Option<f64>,
    /// 99 % of the calls since the start took at most this long.
    pub p99_ms: Option<f64>,
}

/// One kind of grants of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PluginGrant {
    /// The key of `[plugin.grant]`.
    pub kind: &'static str,
    /// The grants as they are written.
    pub granted: Vec<String>,
    /// The number of uses since the start, in words; `None` if uses are not counted.
    pub used: Option<String>,
}

/// Selects the dead letters that the page shows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LetterQuery {
    /// Name of the plugin; `None` means every plugin.
    pub plugin: Option<String>,
    /// Letters to leave out at the start.
    pub offset: usize,
    /// The most letters; at most 200.
    pub limit: usize,
}

/// Some of the dead letters.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LetterPage {
    /// The number of all letters that match.
    pub total: usize,
    /// Some of them.
    pub letters: Vec<Letter>,
    /// Why letters are in memory only, one sentence for each plugin.
    pub problems: Vec<String>,
}

/// One dead letter.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Letter {
    /// Name of the plugin.
    pub plugin: String,
    /// The resource; `None` for a key of the plugin's own, and for a signal.
    pub gvr: Option<String>,
    /// The key of the object, the plugin's own key, or the key of the signal.
    pub key: String,
    /// `add`, `update`, `delete`, `reconcile` for a key, or the call for a signal, such as `on-timer`.
    pub verb: String,
    /// Calls made.
    pub attempts: u32,
    /// The last failure.
    pub failure: String,
    /// When the host gave up, as RFC 3339 writes it.
    pub at: Option<String>,
}

/// Selects the objects that the page looks for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ObjectsQuery {
    /// The resource as the configuration writes it.
    pub gvr: String,
    /// A part of `namespace/name`.
    pub text: String,
}

/// Cached objects that were found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Objects {
    /// The number of objects whose key contains the text.
    pub matching: usize,
    /// The first 50 of their keys.
    pub keys: Vec<String>,
}

/// Selects the log lines that the page shows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LineQuery {
    /// Name of the plugin; `None` means every plugin.
    pub plugin: Option<String>,
    /// Only lines with a greater number.
    pub after: u64,
}

/// The newest log lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinePage {
    /// The lines, the oldest first.
    pub lines: Vec<Line>,
    /// The number of the newest of these lines, or the requested number: the next request asks for the lines after it.
    pub newest: u64,
    /// True if lines after the requested number are missing, because newer ones replaced them or there are too many.
    pub gap: bool,
}

/// One log line of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Lines are numbered from 1 in the order of their arrival.
    pub number: u64,
    /// When it arrived, as RFC 3339 writes it.
    pub at: String,
    /// Name of the plugin.
    pub plugin: String,
    /// `trace`, `debug`, `info`, `warn` or `error`.
    pub level: &'static str,
    /// `log`, `stdout`, `stderr`, or `host` for a line of the host about the plugin.
    pub stream: &'static str,
    /// The text, cut at 4 KiB.
    pub message: String,
}

/// The configuration in force.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigurationInForce {
    /// When it was applied, as RFC 3339 writes it.
    pub applied: Option<String>,
    /// The problems of the present content of the file; `None` if the present content is in force.
    pub refused: Option<Vec<String>>,
    /// Keys whose new value needs a restart of the host.
    pub needs_restart: Vec<String>,
    /// The keys that are written in the file, and those that the newest change removed.
    pub keys: Vec<CurrentKey>,
    /// The newest reloads that did something, the newest first.
    pub reloads: Vec<PastReload>,
}

/// A key of the configuration, with the value before the newest change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CurrentKey {
    /// Such as `host`, `watch v1/pods` or `plugin hello`.
    pub section: String,
    /// The key within its section.
    pub key: String,
    /// The value in TOML notation; `None` if the newest change removed it.
    pub value: Option<String>,
    /// The value before the newest change; `None` if that change did not touch it, or added it.
    pub before: Option<String>,
    /// `added`, `changed` or `removed` by the newest change.
    pub change: Option<&'static str>,
}

/// A reload that did something.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PastReload {
    /// When it ended, as RFC 3339 writes it.
    pub at: String,
    /// The changes of the reload.
    #[serde(flatten)]
    pub report: Report,
}
