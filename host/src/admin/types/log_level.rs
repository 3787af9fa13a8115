//! A change of the log level.

use serde::{Deserialize, Serialize};

/// The body of `POST /log-level`, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LogLevelRequest {
    /// Name of the plugin whose lines are filtered; `None` means the log of the host.
    #[serde(default)]
    pub plugin: Option<String>,
    /// A level, or `default` for the configured one. For the host, also a whole filter.
    pub level: String,
}
