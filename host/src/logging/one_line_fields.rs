//! The fields of an event on one line of the text log.

use std::fmt::{self, Debug, Formatter, Write};

use informer_types::one_line;
use tracing::field::{Field, Visit};
use tracing_subscriber::{
    field::{RecordFields, VisitOutput},
    fmt::{
        FormatFields,
        format::{DefaultVisitor, Writer},
    },
};

/// The form of `tracing`, with each value on one line. Many values come from guests, servers and files, such as a failure, a key or
/// the name of a role. No value may look like another line of the log, above all like an audit record.
pub(super) struct OneLineFields;

struct Visitor<'a>(DefaultVisitor<'a>);

/// A value with its line breaks and other hidden characters escaped.
struct OneLine<'a>(&'a dyn Debug);

struct Escaping<'a, 'b>(&'a mut Formatter<'b>);

// === impl OneLineFields ===

impl<'a> FormatFields<'a> for OneLineFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'a>, fields: R) -> fmt::Result {
        let mut visitor = Visitor(DefaultVisitor::new(writer, true));
        fields.record(&mut visitor);
        visitor.0.finish()
    }
}

// === impl Visitor ===

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.record_debug(field, &format_args!("{value}"));
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.record_debug(field, &OneLine(value));
    }
}

// === impl OneLine ===

impl Debug for OneLine<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaping(out), "{:?}", self.0)
    }
}

// === impl Escaping ===

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write!(self.0, "{}", one_line(text))
    }
}

#[cfg(test)]
mod tests {
    use informer_types::is_hidden;

    use super::super::testing::written;

    #[test]
    fn no_value_of_a_field_forges_a_line_or_controls_the_terminal() {
        let forged = "x\n2026-01-01T00:00:00Z  INFO audit: outcome=\"ok\" write\r\u{1b}[2J\u{9b}31m\u{202e}\u{2028}\u{200b}";
        let log = || {
            tracing::error!(plugin = "p", failure = %forged, text = forged, list = ?[forged], "gave up {forged}");
        };

        let line = written(false, log);
        assert_eq!((line.lines().count(), line.matches("outcome=").count()), (1, 4), "{line}");
        assert!(!line.trim_end().contains(is_hidden), "{line:?}");
        let text = r#" outcome="ok" write\r\u{1b}[2J\u{9b}31m\u{202e}\u{2028}\u{200b} plugin="p" failure=x\n2026-01-01T00:00:00Z  INFO audit: "#;
        assert!(line.contains(text), "{line}");

        let coloured = written(true, log);
        assert_eq!((coloured.lines().count(), coloured.contains("\u{1b}[2J")), (1, false), "{coloured:?}");
        assert!(coloured.contains("\u{1b}[3mplugin\u{1b}[0m"), "the colours of the log stay: {coloured:?}");
    }

    #[test]
    fn a_value_without_control_characters_stays_as_it_is() {
        let line = written(false, || tracing::info!(size = 3, name = "Größe", "a \"text\""));

        assert!(line.ends_with("a \"text\" size=3 name=\"Größe\"\n"), "{line}");
    }
}
