//! The lines of plugins in the log of the host.

use std::fmt::{self, Debug, Formatter};

use informer_runtime::{LogLevel, LogLine, LogSink, LogStream};
use serde_json::Value;

use super::{PLUGIN_TARGET as TARGET, keeps_plugin_line};

/// Sends every line to the log of the host, with the name of the plugin, and the resource, the key and the version of the object
/// that the call is for. The level of the plugin or the filter of the host is applied to the line before.
#[derive(Clone, Copy, Debug, Default)]
pub struct PluginLog;

/// The fields of a guest: a text, or in the alternate form a JSON object.
struct GuestFields<'a>(&'a [(String, String)]);

// === impl PluginLog ===

impl LogSink for PluginLog {
    fn enabled(&self, _plugin: &str, level: LogLevel) -> bool {
        keeps_plugin_line(level)
    }

    fn line(&self, line: &LogLine<'_>) {
        let fields = (!line.fields.is_empty()).then_some(GuestFields(line.fields));
        let fields = fields.as_ref().map(tracing::field::debug);
        write(line, fields.as_ref());
    }
}

// === impl GuestFields ===

impl Debug for GuestFields<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let members = self.0.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
            return write!(f, "{}", Value::Object(members.collect()));
        }
        let fields: Vec<String> = self.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
        write!(f, "{:?}", fields.join(" "))
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

fn write(line: &LogLine<'_>, fields: Option<&impl tracing::Value>) {
    let LogLine { plugin, level, message, .. } = *line;
    let stream = stream_name(line.stream);
    let resource = line.subject.and_then(|subject| Some(subject.resource()?.to_string()));
    let key = line.subject.map(|subject| subject.key().into_owned());
    let (resource, key) = (resource.as_deref(), key.as_deref());
    let rv = line.subject.and_then(|subject| subject.resource_version());
    macro_rules! write {
        ($level:ident) => {
            tracing::$level!(target: TARGET, plugin, stream, resource, key, rv, fields, "{message}")
        };
    }
    match level {
        LogLevel::Trace => write!(trace),
        LogLevel::Debug => write!(debug),
        LogLevel::Info => write!(info),
        LogLevel::Warn => write!(warn),
        LogLevel::Error => write!(error),
    }
}

#[cfg(test)]
mod tests;
