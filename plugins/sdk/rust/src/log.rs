//! Lines in the host's log, marked with the plugin's name.
//!
//! The macros look like those of the `log` crate: fields first, then the message.
//!
//! ```
//! use informer_sdk::log;
//!
//! # fn example(name: &str, replicas: u32) {
//! log::info!("started");
//! log::warn!(name = name, replicas = replicas; "too few replicas");
//! # }
//! ```
//!
//! Nothing is formatted where the host would not keep the line. `println!` works too: a line of level `info`;
//! what goes to stderr, a panic's message too, becomes a line of level `warn`.

use crate::host;

#[doc(inline)]
pub use crate::{debug, error, info, trace, warn};

/// How much a line matters, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every step.
    Trace,
    /// Decisions.
    Debug,
    /// Life cycle and results.
    Info,
    /// Something went wrong, and the plugin went on.
    Warn,
    /// Somebody has to look.
    Error,
}

/// Whether a line of this level would be kept.
#[must_use]
pub fn enabled(level: Level) -> bool {
    host::log::enabled(level.into())
}

/// Writes one line. `fields` are keys and values for machines; put data there, not into the message. A line
/// beyond the plugin's `log` limit is cut, and lines beyond it are dropped and counted.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    host::log::write(level.into(), message, fields);
}

// === impl Level ===

/// The word of the WIT interface: `trace`, `debug`, `info`, `warn` or `error`.
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

impl From<Level> for host::log::Level {
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

impl From<host::log::Level> for Level {
    fn from(level: host::log::Level) -> Self {
        match level {
            host::log::Level::Trace => Self::Trace,
            host::log::Level::Debug => Self::Debug,
            host::log::Level::Info => Self::Info,
            host::log::Level::Warn => Self::Warn,
            host::log::Level::Error => Self::Error,
        }
    }
}

/// What the five macros have in common.
#[doc(hidden)]
#[macro_export]
macro_rules! __log {
    ($level:ident, $($key:ident = $value:expr),+ $(,)? ; $($message:tt)+) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::write(
                $crate::log::Level::$level,
                &::std::format!($($message)+),
                &[$((::core::stringify!($key), ::std::string::ToString::to_string(&$value).as_str())),+],
            );
        }
    };
    ($level:ident, $($message:tt)+) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::write($crate::log::Level::$level, &::std::format!($($message)+), &[]);
        }
    };
}

/// Writes a line of level `trace`; see [`log`](mod@crate::log).
#[macro_export]
macro_rules! trace { ($($line:tt)+) => { $crate::__log!(Trace, $($line)+) }; }

/// Writes a line of level `debug`; see [`log`](mod@crate::log).
#[macro_export]
macro_rules! debug { ($($line:tt)+) => { $crate::__log!(Debug, $($line)+) }; }

/// Writes a line of level `info`; see [`log`](mod@crate::log).
#[macro_export]
macro_rules! info { ($($line:tt)+) => { $crate::__log!(Info, $($line)+) }; }

/// Writes a line of level `warn`; see [`log`](mod@crate::log).
#[macro_export]
macro_rules! warn { ($($line:tt)+) => { $crate::__log!(Warn, $($line)+) }; }

/// Writes a line of level `error`; see [`log`](mod@crate::log).
#[macro_export]
macro_rules! error { ($($line:tt)+) => { $crate::__log!(Error, $($line)+) }; }
