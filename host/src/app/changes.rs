//! What came of a reload, for whoever asked for it.

use std::fmt;

use serde_json::{Value, json};

/// One thing that a reload did, or could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `plugin`, `watch` or `key`.
    pub kind: &'static str,
    /// Which of them, as the configuration names it.
    pub name: String,
    /// What became of it.
    pub verdict: Verdict,
    /// In words; may be empty.
    pub detail: String,
}

/// What became of something that the configuration changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is another one now.
    Changed,
    /// A new version is in service.
    Loaded,
    /// It is not in force, and the reason is the detail. What was in force before goes on.
    Refused,
    /// It takes effect at the next start.
    NeedsRestart,
}

/// What came of one reload. Empty: nothing had changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What is wrong with the file; then nothing was changed.
    pub problems: Vec<String>,
    /// What was done.
    pub changes: Vec<Change>,
}

// === impl Report ===

impl Report {
    /// False where the file, or something it names, is refused.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty() && self.changes.iter().all(|change| change.verdict != Verdict::Refused)
    }

    /// As the admin endpoint answers.
    pub fn to_json(&self) -> Value {
        let changes = self.changes.iter().map(|change| {
            let Change { kind, name, verdict, detail } = change;
            json!({"kind": kind, "name": name, "verdict": verdict.as_str(), "detail": detail})
        });
        json!({"ok": self.is_ok(), "problems": self.problems, "changes": changes.collect::<Vec<_>>()})
    }

    /// What of it is about one plugin, and what is wrong with the file.
    pub(super) fn of_plugin(&self, name: &str) -> Self {
        let about = |change: &&Change| change.kind == "plugin" && change.name == name;
        let changes = self.changes.iter().filter(about).cloned().collect();
        Self { problems: self.problems.clone(), changes }
    }

    pub(super) fn note(
        &mut self,
        kind: &'static str,
        name: &str,
        verdict: Verdict,
        detail: impl Into<String>,
    ) {
        self.changes.push(Change { kind, name: name.to_owned(), verdict, detail: detail.into() });
    }
}

// === impl Change ===

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind, self.name, self.verdict.as_str())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

// === impl Verdict ===

impl Verdict {
    /// The word used in answers and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Loaded => "loaded",
            Self::Refused => "refused",
            Self::NeedsRestart => "needs-restart",
        }
    }
}
