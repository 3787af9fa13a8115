//! The standard error for the JSON log.

use std::io::{self, Stderr, Write, stderr};

use informer_types::visible_json;

/// Writes lines of JSON with hidden characters as `\u` escapes. JSON escapes line breaks, but not the characters that reorder
/// text on a terminal, and operators read this log on terminals too.
pub(super) struct VisibleStderr<W = Stderr>(W);

// === impl VisibleStderr ===

impl Default for VisibleStderr {
    fn default() -> Self {
        Self(stderr())
    }
}

impl<W: Write> Write for VisibleStderr<W> {
    /// `tracing` writes each line at once, so no character is cut.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(line) {
            Ok(text) => self.0.write_all(visible_json(text).to_string().as_bytes())?,
            Err(_) => self.0.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::Written, *};

    #[test]
    fn the_json_log_is_the_same_document_without_hidden_characters() {
        let (written, text) = (Written::default(), "a\u{202e}b\u{9b}31m\u{2028}\n");
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_writer(move || VisibleStderr(writer.clone()))
            .finish();

        tracing::subscriber::with_default(subscriber, || tracing::info!(failure = text, "gave up"));

        let line = written.text();
        assert!(line.contains(r"a\u202eb\u009b31m\u2028\n"), "{line}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap()["failure"], text);
    }
}
