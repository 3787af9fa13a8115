//! The plugins' lines in the host's log.

mod level;

use informer_runtime::{LogLevel, LogLine, LogSink};

pub(crate) use level::{LEVELS, LeveledLog, PluginLevel, UnknownLevel, WrittenLevel};

use crate::logging::{PLUGIN_TARGET as TARGET, keeps_plugin_line};

/// Sends every line to the host's own log, marked with the plugin's name. Whether a line is kept is asked before, of
/// the plugin's own level where it has one.
#[derive(Clone, Copy, Debug, Default)]
pub struct PluginLog;

impl LogSink for PluginLog {
    fn enabled(&self, _plugin: &str, level: LogLevel) -> bool {
        keeps_plugin_line(level)
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
