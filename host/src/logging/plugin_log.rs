//! The plugins' lines in the host's log.

use informer_runtime::{LogLevel, LogLine, LogSink, LogStream};

use super::{PLUGIN_TARGET as TARGET, keeps_plugin_line};

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
        write(line, fields.as_deref());
    }
}

fn write(line: &LogLine<'_>, fields: Option<&str>) {
    let LogLine { plugin, level, message, .. } = *line;
    // What a guest says is told from what the host says of it.
    let stream = match line.stream {
        LogStream::Log => "log",
        LogStream::Stdout => "stdout",
        LogStream::Stderr => "stderr",
        LogStream::Host => "host",
    };
    match level {
        LogLevel::Trace => tracing::trace!(target: TARGET, plugin, stream, fields, "{message}"),
        LogLevel::Debug => tracing::debug!(target: TARGET, plugin, stream, fields, "{message}"),
        LogLevel::Info => tracing::info!(target: TARGET, plugin, stream, fields, "{message}"),
        LogLevel::Warn => tracing::warn!(target: TARGET, plugin, stream, fields, "{message}"),
        LogLevel::Error => tracing::error!(target: TARGET, plugin, stream, fields, "{message}"),
    }
}

#[cfg(test)]
mod tests;
