//! A reload and its result.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The body of `POST /reload`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReloadRequest {
    /// Name of the plugin whose component is reloaded; `None` means the configuration and every component.
    #[serde(default)]
    pub plugin: Option<String>,
}

/// The result of one reload. It is empty if nothing had changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The problems of the file. If there are any, nothing was changed.
    pub problems: Vec<String>,
    /// The changes that the reload made.
    pub changes: Vec<Change>,
}

/// One thing that a reload did or could not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// `plugin`, `watch` or `key`.
    pub kind: String,
    /// The name in the configuration.
    pub name: String,
    /// The result.
    pub verdict: Verdict,
    /// More about the result; may be empty.
    pub detail: String,
}

/// The result for one part of the configuration that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was started.
    Added,
    /// It was removed.
    Removed,
    /// It runs with the new configuration.
    Changed,
    /// A new version is in service.
    Loaded,
    /// It is not in force, for the reason in the detail. The previous one stays in force.
    Refused,
    /// It takes effect at the next start of the host.
    NeedsRestart,
}

/// The answer to `POST /reload`.
#[derive(Serialize)]
pub(crate) struct Reported {
    ok: bool,
    #[serde(flatten)]
    report: Report,
}

// === impl Report ===

impl Report {
    /// Returns true if neither the file nor anything it names is refused.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty() && self.changes.iter().all(|change| change.verdict != Verdict::Refused)
    }

    /// The changes of one plugin, and the problems of the file.
    pub(crate) fn of_plugin(&self, name: &str) -> Self {
        let about = |change: &&Change| change.kind == "plugin" && change.name == name;
        let changes = self.changes.iter().filter(about).cloned().collect();
        Self { problems: self.problems.clone(), changes }
    }

    pub(crate) fn note(&mut self, kind: &str, name: &str, verdict: Verdict, detail: impl Into<String>) {
        let (kind, name, detail) = (kind.to_owned(), name.to_owned(), detail.into());
        self.changes.push(Change { kind, name, verdict, detail });
    }
}

impl From<Report> for Reported {
    fn from(report: Report) -> Self {
        Self { ok: report.is_ok(), report }
    }
}

// === impl Change ===

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind, self.name, self.verdict)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

// === impl Verdict ===

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Loaded => "loaded",
            Self::Refused => "refused",
            Self::NeedsRestart => "needs restart",
        })
    }
}
