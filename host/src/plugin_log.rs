//! The plugins' lines in the host's log.

use informer_runtime::{LogLevel, LogLine, LogSink};
use tracing::Level;

/// What all lines of plugins are logged under: `RUST_LOG`-style filters name it `plugin`.
const TARGET: &str = "plugin";

/// Sends every line to the host's own log, marked with the plugin's name.
#[derive(Clone, Copy, Debug, Default)]
pub struct PluginLog;

impl LogSink for PluginLog {
    fn enabled(&self, _plugin: &str, level: LogLevel) -> bool {
        match level {
            LogLevel::Trace => tracing::enabled!(target: TARGET, Level::TRACE),
            LogLevel::Debug => tracing::enabled!(target: TARGET, Level::DEBUG),
            LogLevel::Info => tracing::enabled!(target: TARGET, Level::INFO),
            LogLevel::Warn => tracing::enabled!(target: TARGET, Level::WARN),
            LogLevel::Error => tracing::enabled!(target: TARGET, Level::ERROR),
        }
    }

    fn line(&self, line: &LogLine<'_>) {
        // The guest chooses the keys, and tracing wants them known: one field holds them all.
        let fields =
            line.fields.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
        let fields = (!fields.is_empty()).then_some(fields);
        // A guest may put line breaks into a message; what follows one must not look like a line of the host's.
        for message in line.message.lines() {
            write(line.level, line.plugin, message, fields.as_deref());
        }
    }
}

fn write(level: LogLevel, plugin: &str, message: &str, fields: Option<&str>) {
    match level {
        LogLevel::Trace => tracing::trace!(target: TARGET, plugin, fields, "{message}"),
        LogLevel::Debug => tracing::debug!(target: TARGET, plugin, fields, "{message}"),
        LogLevel::Info => tracing::info!(target: TARGET, plugin, fields, "{message}"),
        LogLevel::Warn => tracing::warn!(target: TARGET, plugin, fields, "{message}"),
        LogLevel::Error => tracing::error!(target: TARGET, plugin, fields, "{message}"),
    }
}
