//! One action of a plugin: an entry of one of the lists of a step.

use serde_json::Value;

/// The lists of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Calls,
    Failures,
    Log,
    Writes,
    Http,
}

/// One thing that the plugin did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) text: String,
    /// The level of a log line.
    pub(super) level: Option<String>,
    /// The fields of a log line, or the headers of a request.
    pub(super) fields: Vec<(String, String)>,
    /// The body of a request, as JSON if it is JSON.
    pub(super) body: Value,
}

// === impl Kind ===

impl Kind {
    pub(super) const ALL: [Self; 5] = [Self::Calls, Self::Failures, Self::Log, Self::Writes, Self::Http];

    /// The key in the file.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Failures => "failures",
            Self::Log => "log",
            Self::Writes => "writes",
            Self::Http => "http",
        }
    }
}

// === impl Seen ===

impl Seen {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// The notes behind the text of a call: ` (live, attempt 2)`, or nothing.
pub(super) fn in_brackets(notes: &[String]) -> String {
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}
