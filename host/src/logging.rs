//! The log of the process.

mod filter;
mod json_lines;
mod level;
mod one_line_fields;
mod plugin_log;
mod recent_lines;
#[cfg(test)]
pub(crate) mod testing;
mod visible_stderr;

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
use json_lines::JsonLines;
pub(crate) use level::{LEVELS, LeveledLog, PluginLevel, UnknownLevel, WrittenLevel};
use one_line_fields::OneLineFields;
pub use plugin_log::PluginLog;
pub(crate) use plugin_log::stream_name;
pub(crate) use recent_lines::RecentLines;
use visible_stderr::VisibleStderr;

/// The target of all lines of plugins: filters name it `plugin`.
pub(crate) const PLUGIN_TARGET: &str = "plugin";

/// The name of the field with the fields of the guest. `tracing` needs constant names, but the guest chooses the keys: one field has
/// them all.
const PLUGIN_FIELDS: &str = "fields";

/// The log of this process, once it has started.
static STARTED: OnceLock<Started> = OnceLock::new();

struct Started {
    handle: reload::Handle<EnvFilter, Registry>,
    in_force: ArcSwap<InForce>,
    /// The filter that `default` restores.
    initial: ArcSwap<String>,
    precedence: Precedence,
}

/// The filter in force.
struct InForce {
    text: String,
    /// The same filter for the lines of plugins without a level of their own.
    plugins: tracing_subscriber::filter::Targets,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For a person: one readable line for each event.
    #[default]
    #[value(help = "For a person")]
    Text,
    /// For a collector: one JSON object for each line.
    #[value(help = "For a collector")]
    Json,
}

/// The origin of the log filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precedence {
    /// `log` in the configuration, which may change.
    File,
    /// `--log` or `INFORMER_LOG`, which override the configuration.
    Flag,
}

/// Why the log filter is not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetFilterError {
    /// The filter cannot be read.
    #[error(transparent)]
    Invalid(#[from] InvalidFilter),
    /// Other code has set up the log of this process.
    #[error("informer did not start the log of this process, so that its filter cannot be changed")]
    NotStarted,
    /// A flag or an environment variable overrides the file.
    #[error("--log or INFORMER_LOG overrides it")]
    Flag,
}

/// Checks a filter.
///
/// # Errors
/// [`InvalidFilter`].
pub(crate) fn check(filter: &str) -> Result<(), InvalidFilter> {
    Filter::parse(filter).map(|_| ())
}

/// Sends the log of the process to stderr from now on. A second call in one process changes nothing.
///
/// # Errors
/// [`InvalidFilter`] if the filter cannot be read.
pub fn init(filter: &str, format: LogFormat, precedence: Precedence) -> Result<(), InvalidFilter> {
    let Filter { host, plugins } = Filter::parse(filter)?;
    let (host, handle) = reload::Layer::new(host);
    // The level of a plugin filters its lines before they get here.
    let kept = host.or(filter_fn(|metadata| metadata.target() == PLUGIN_TARGET));
    let stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let layer = match format {
        LogFormat::Text => {
            stderr.fmt_fields(OneLineFields).with_ansi(std::io::stderr().is_terminal()).boxed()
        }
        LogFormat::Json => stderr
            .json()
            .event_format(JsonLines::new(PLUGIN_TARGET, PLUGIN_FIELDS))
            .with_writer(VisibleStderr::default)
            .boxed(),
    };
    // Only a test that starts two hosts in one process calls this twice; the first filter stays.
    if tracing_subscriber::registry().with(layer.with_filter(kept)).try_init().is_ok() {
        let in_force = ArcSwap::from_pointee(InForce { text: filter.to_owned(), plugins });
        let initial = ArcSwap::from_pointee(filter.to_owned());
        STARTED.set(Started { handle, in_force, initial, precedence }).ok();
    }
    Ok(())
}

/// Changes the log filter from now on. `None` restores the configured filter.
///
/// # Errors
/// [`SetFilterError`]; the previous filter stays.
pub fn set(filter: Option<&str>) -> Result<(), SetFilterError> {
    let started = STARTED.get().ok_or(SetFilterError::NotStarted)?;
    let initial = started.initial.load();
    let filter = filter.unwrap_or(&initial);
    let Filter { host, plugins } = Filter::parse(filter)?;
    started.handle.reload(host).map_err(|_| SetFilterError::NotStarted)?;
    started.in_force.store(InForce { text: filter.to_owned(), plugins }.into());
    Ok(())
}

/// Applies a changed `log` of the configuration.
///
/// # Errors
/// The errors of [`set`], and [`SetFilterError::Flag`] if a flag overrides the file.
pub(crate) fn configure(filter: &str) -> Result<(), SetFilterError> {
    let started = STARTED.get().ok_or(SetFilterError::NotStarted)?;
    if started.precedence == Precedence::Flag {
        return Err(SetFilterError::Flag);
    }
    set(Some(filter))?;
    started.initial.store(filter.to_owned().into());
    Ok(())
}

/// Returns the filter in force, or `None` if informer did not start the log.
pub(crate) fn in_force() -> Option<String> {
    STARTED.get().map(|started| started.in_force.load().text.clone())
}

/// Returns true if a line of a plugin without a level of its own is kept.
pub(crate) fn keeps_plugin_line(level: LogLevel) -> bool {
    let level = match level {
        LogLevel::Trace => Level::TRACE,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Info => Level::INFO,
        LogLevel::Warn => Level::WARN,
        LogLevel::Error => Level::ERROR,
    };
    // If other code has set up the log, it has its own filter.
    STARTED.get().is_none_or(|started| started.in_force.load().plugins.would_enable(PLUGIN_TARGET, &level))
}
