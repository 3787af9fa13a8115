//! Lines in the host's log. The host adds the plugin's name to each line.
//!
//! The macros work like the macros of the `log` crate: fields first, then the message.
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
//! The levels, from least to most important: `trace` for every step, `debug` for decisions, `info` for the life cycle and
//! results, `warn` if something failed and the plugin recovered, and `error` if an operator must act.
//!
//! A macro formats nothing if the host would drop the line. `println!` works too and writes a line of level `info`. Lines on
//! stderr, for example the message of a panic, have the level `warn`.

use crate::host;

pub use crate::bindings::informer::plugin::log::Level;

#[doc(inline)]
pub use crate::{debug, error, info, trace, warn};

/// Returns true if the host keeps lines of this level.
#[must_use]
pub fn enabled(level: Level) -> bool {
    host::log::enabled(level)
}

/// Writes one line. Put data into `fields`, as keys and values, and not into the message.
///
/// The host cuts a line that exceeds the plugin's `log` limit. It drops and counts further lines beyond the limit.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    host::log::write(level, message, fields);
}

/// The common part of the five macros.
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
