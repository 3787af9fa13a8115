//! The process's own log.

mod filter;
mod level;
mod one_line_fields;
mod plugin_log;
#[cfg(test)]
pub(crate) mod testing;

use std::{io::IsTerminal, sync::OnceLock};

use arc_swap::ArcSwap;
use informer_runtime::LogLevel;
use tracing::Level;
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt, filter_fn},
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

use filter::Filter;
pub use filter::InvalidFilter;
pub(crate) use level::{LEVELS, LeveledLog, PluginLevel, UnknownLevel, WrittenLevel};
use one_line_fields::OneLineFields;
pub use plugin_log::PluginLog;

/// What all lines of plugins are logged under: filters name it `plugin`.
pub(crate) const PLUGIN_TARGET: &str = "plugin";

/// The log of this process, once it is started.
static STARTED: OnceLock<Started> = OnceLock::new();

struct Started {
    handle: reload::Handle<EnvFilter, Registry>,
    in_force: ArcSwap<InForce>,
    /// What `default` means.
    initial: ArcSwap<String>,
    precedence: Precedence,
}

/// The filter as it is in force.
struct InForce {
    text: String,
    /// As it judges the lines of plugins that have no level of their own.
    plugins: tracing_subscriber::filter::Targets,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person: one readable line, whatever is logged.
    #[default]
    Text,
    /// For a collector: one JSON object a line.
    Json,
}

/// Who said what is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precedence {
    /// The configuration's `log`, which may change.
    File,
    /// `--log` or `INFORMER_LOG`, which win over it.
    Flag,
}

/// Why the log's filter is not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetFilterError {
    /// It cannot be read.
    #[error(transparent)]
    Invalid(#[from] InvalidFilter),
    /// Somebody else has the log of this process.
    #[error("the log of this process was not started by informer, so that its filter cannot be changed")]
    NotStarted,
    /// The file's is not the one in force.
    #[error("--log or INFORMER_LOG wins over it")]
    Flag,
}

/// Reads a filter, and changes nothing.
///
/// # Errors
/// [`InvalidFilter`].
pub(crate) fn check(filter: &str) -> Result<(), InvalidFilter> {
    Filter::parse(filter).map(|_| ())
}

/// Sends the process's log to stderr, from now on. A second call in one process changes nothing.
///
/// # Errors
/// [`InvalidFilter`] where the filter cannot be read.
pub fn init(filter: &str, format: LogFormat, precedence: Precedence) -> Result<(), InvalidFilter> {
    let Filter { host, plugins } = Filter::parse(filter)?;
    let (host, handle) = reload::Layer::new(host);
    // Which lines of a plugin are kept is decided before they get here, by its own level.
    let kept = host.or(filter_fn(|metadata| metadata.target() == PLUGIN_TARGET));
    let stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let layer = match format {
        LogFormat::Text => {
            stderr.fmt_fields(OneLineFields).with_ansi(std::io::stderr().is_terminal()).boxed()
        }
        LogFormat::Json => stderr.json().flatten_event(true).boxed(),
    };
    // Only a test that starts two hosts in one process gets here twice; the first setting stands.
    if tracing_subscriber::registry().with(layer.with_filter(kept)).try_init().is_ok() {
        let in_force = ArcSwap::from_pointee(InForce { text: filter.to_owned(), plugins });
        let initial = ArcSwap::from_pointee(filter.to_owned());
        STARTED.set(Started { handle, in_force, initial, precedence }).ok();
    }
    Ok(())
}

/// Changes what is logged, from now on; none: as it was configured.
///
/// # Errors
/// [`SetFilterError`]; what was logged before goes on.
pub fn set(filter: Option<&str>) -> Result<(), SetFilterError> {
    let started = STARTED.get().ok_or(SetFilterError::NotStarted)?;
    let initial = started.initial.load();
    let filter = filter.unwrap_or(&initial);
    let Filter { host, plugins } = Filter::parse(filter)?;
    started.handle.reload(host).map_err(|_| SetFilterError::NotStarted)?;
    started.in_force.store(InForce { text: filter.to_owned(), plugins }.into());
    Ok(())
}

/// The configuration's `log` is another one now.
///
/// # Errors
/// As [`set`], and where a flag wins over the file.
pub(crate) fn configure(filter: &str) -> Result<(), SetFilterError> {
    let started = STARTED.get().ok_or(SetFilterError::NotStarted)?;
    if started.precedence == Precedence::Flag {
        return Err(SetFilterError::Flag);
    }
    set(Some(filter))?;
    started.initial.store(filter.to_owned().into());
    Ok(())
}

/// The filter in force; none where the log was not started here.
pub(crate) fn in_force() -> Option<String> {
    STARTED.get().map(|started| started.in_force.load().text.clone())
}

/// Whether a line of a plugin without a level of its own is kept.
pub(crate) fn keeps_plugin_line(level: LogLevel) -> bool {
    let level = match level {
        LogLevel::Trace => Level::TRACE,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Info => Level::INFO,
        LogLevel::Warn => Level::WARN,
        LogLevel::Error => Level::ERROR,
    };
    // A log of somebody else's has its own filter.
    STARTED.get().is_none_or(|started| started.in_force.load().plugins.would_enable(PLUGIN_TARGET, &level))
}
