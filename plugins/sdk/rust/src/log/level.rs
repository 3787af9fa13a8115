//! The importance of a line.

use crate::bindings::informer::plugin::log as wit;

/// How important a line is, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every step.
    Trace,
    /// Decisions.
    Debug,
    /// Life cycle and results.
    Info,
    /// Something failed, and the plugin recovered.
    Warn,
    /// An operator must act.
    Error,
}

// === impl Level ===

/// Writes the word of the WIT interface: `trace`, `debug`, `info`, `warn` or `error`.
impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        })
    }
}

impl From<Level> for wit::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::Trace,
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warn,
            Level::Error => Self::Error,
        }
    }
}

impl From<wit::Level> for Level {
    fn from(level: wit::Level) -> Self {
        match level {
            wit::Level::Trace => Self::Trace,
            wit::Level::Debug => Self::Debug,
            wit::Level::Info => Self::Info,
            wit::Level::Warn => Self::Warn,
            wit::Level::Error => Self::Error,
        }
    }
}
