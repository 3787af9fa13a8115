//! The events of the JSON log.

use std::fmt::{self, Debug};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Json, Writer},
        time::{FormatTime, SystemTime},
    },
    registry::LookupSpan,
};

/// The form of `tracing`. In the lines of plugins, the fields that the guest chose are an object of their own, `fields`: so a guest
/// cannot write a field of the host.
pub(super) struct JsonLines {
    format: Format<Json>,
    /// The target of the lines of plugins, and the name of the field that holds the fields of the guest.
    plugin: &'static str,
    fields: &'static str,
}

/// Writes the fields of an event as members of an object.
struct Members<'a, 'b> {
    out: &'a mut Writer<'b>,
    fields: &'static str,
    written: fmt::Result,
}

// === impl JsonLines ===

impl JsonLines {
    pub(super) fn new(plugin: &'static str, fields: &'static str) -> Self {
        Self { format: tracing_subscriber::fmt::format().json().flatten_event(true), plugin, fields }
    }
}

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if event.metadata().target() != self.plugin {
            return self.format.format_event(context, writer, event);
        }
        writer.write_str("{\"timestamp\":\"")?;
        SystemTime.format_time(&mut writer)?;
        write!(writer, "\",\"level\":\"{}\"", event.metadata().level())?;
        let mut members = Members { out: &mut writer, fields: self.fields, written: Ok(()) };
        event.record(&mut members);
        members.written?;
        writeln!(writer, ",\"target\":\"{}\"}}", self.plugin)
    }
}

// === impl Members ===

impl Visit for Members<'_, '_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let value = serde_json::to_string(value).map_err(|_| fmt::Error);
        let value = self.written.and(value);
        self.written = value.and_then(|value| write!(self.out, ",\"{}\":{value}", field.name()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == self.fields {
            let Self { out, fields, written } = self;
            *written = written.and_then(|()| write!(out, ",\"{fields}\":{value:#?}"));
        } else {
            self.record_str(field, &format!("{value:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use informer_runtime::{LogLevel, LogLine, LogSink, LogStream};
    use serde_json::{Value, json};

    use super::{super::testing::Written, *};
    use crate::logging::PluginLog;

    fn written(log: impl FnOnce()) -> Value {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt().json().event_format(JsonLines::new("plugin", "fields"));
        let subscriber = subscriber.with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, log);
        let line = written.text();
        assert_eq!(line.lines().count(), 1, "{line}");
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn the_fields_of_a_guest_are_fields_and_cannot_be_those_of_the_host() {
        let text = |text: &str| text.to_owned();
        let fields = [
            (text("replicas"), text("3")),
            (text("a \"b\"\n"), text("ü\n")),
            (text("plugin"), text("audit")),
        ];
        let line = LogLine {
            plugin: "scaler",
            stream: LogStream::Log,
            level: LogLevel::Warn,
            message: "it \"said\"\n",
            fields: &fields,
            subject: None,
        };

        let mut found = written(|| PluginLog.line(&line));

        let timestamp = found.as_object_mut().unwrap().remove("timestamp");
        assert!(timestamp.unwrap().as_str().unwrap().ends_with('Z'));
        let fields = json!({"replicas": "3", "a \"b\"\n": "ü\n", "plugin": "audit"});
        let expected = json!({
            "level": "WARN", "message": "it \"said\"\n", "plugin": "scaler", "stream": "log", "fields": fields,
            "target": "plugin",
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_of_the_host_has_the_form_of_tracing() {
        let found = written(|| tracing::info!(count = 3, "started"));

        assert_eq!((&found["message"], &found["count"]), (&json!("started"), &json!(3)), "{found}");
    }
}
