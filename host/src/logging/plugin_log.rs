//! The lines of plugins in the log of the host.

use informer_runtime::{LogLevel, LogLine, LogSink, LogStream};

use super::{PLUGIN_TARGET as TARGET, keeps_plugin_line};

/// Sends every line to the log of the host, with the name of the plugin. The level of the plugin, or the filter of the host, has kept
/// the line before.
#[derive(Clone, Copy, Debug, Default)]
pub struct PluginLog;

impl LogSink for PluginLog {
    fn enabled(&self, _plugin: &str, level: LogLevel) -> bool {
        keeps_plugin_line(level)
    }

    fn line(&self, line: &LogLine<'_>) {
        // tracing needs constant field names, but the guest chooses the keys: one field has them all.
        let fields =
            line.fields.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
        let fields = (!fields.is_empty()).then_some(fields);
        write(line, fields.as_deref());
    }
}

/// The name of a stream. It distinguishes lines of the guest from lines of the host about it.
pub(crate) fn stream_name(stream: LogStream) -> &'static str {
    match stream {
        LogStream::Log => "log",
        LogStream::Stdout => "stdout",
        LogStream::Stderr => "stderr",
        LogStream::Host => "host",
    }
}

fn write(line: &LogLine<'_>, fields: Option<&str>) {
    let LogLine { plugin, level, message, .. } = *line;
    let stream = stream_name(line.stream);
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
