//! What a test reads back: the lines and the requests of the plugin.

use serde_json::Value;

use crate::ObjectKey;
use crate::log::Level;

/// One line that the plugin logged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// How important the line is.
    pub level: Level,
    /// The message.
    pub message: String,
    /// Keys and values.
    pub fields: Vec<(String, String)>,
}

/// A write or an Event that the plugin requested.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// `create`, `update`, `patch`, `delete` or `event`.
    pub verb: &'static str,
    /// The resource: `apps/v1/deployments`.
    pub gvr: String,
    /// The object. Its name is empty if the server chooses the name.
    pub key: ObjectKey,
    /// The body of the request: the reason for an Event, `null` for a deletion.
    pub body: Value,
    /// True for a dry run.
    pub dry_run: bool,
}

// === impl Line ===

/// Writes `info message key=value`.
impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.level, self.message)?;
        self.fields.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}
