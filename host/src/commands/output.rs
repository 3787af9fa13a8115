//! How a command prints its result.

use std::{
    io::{self, ErrorKind, Write, stdout},
    sync::OnceLock,
};

use informer_types::{one_line, visible_json};
use serde_json::Value;

use crate::{admin::Answer, cli::Output};

/// The first error of the standard output of this process. Nothing is written after it.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// Prints the result of a command. Line breaks stay; other hidden characters are escaped, because the text may quote a plugin, a
/// server or a file, and the reader may be a terminal.
pub(crate) fn print(text: &str) {
    write(&visible(text));
}

/// Prints a JSON document, with hidden characters as `\u` escapes: a program reads the same document.
pub(crate) fn print_json(json: &Value) {
    write(&format!("{}\n", visible_json(&format!("{json:#}"))));
}

/// Like [`print_json`], on one line.
pub(crate) fn print_json_line(json: &Value) {
    write(&format!("{}\n", visible_json(&json.to_string())));
}

/// Why a part of the result is not written. Returns `None` if everything is written, or if the reader closed the pipe: it has seen
/// enough, as `head` has after its lines.
#[must_use]
pub fn unwritten() -> Option<&'static io::Error> {
    FAILED.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)
}

/// The text with hidden characters escaped, line by line.
#[must_use]
pub fn visible(text: &str) -> String {
    let lines = text.split('\n').map(|line| one_line(line).to_string());
    lines.collect::<Vec<String>>().join("\n")
}

/// A text as one word of a shell, in quotes if it has characters that mean something to a shell.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Notes an error for [`unwritten`]: a command that serves goes on, and stops in order.
fn write(text: &str) {
    if FAILED.get().is_some() {
        return;
    }
    let mut stdout = stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        FAILED.set(error).ok();
    }
}

/// Prints an answer of the host: the JSON for a program, the words of `text` for a person.
pub(crate) fn show<T>(answer: &Answer<T>, output: Output, text: impl FnOnce(&T) -> String) {
    match output {
        Output::Json => print_json(&answer.json),
        Output::Text => print(&text(&answer.value)),
    }
}

/// Returns the lines of a table, the header first. Each column is as wide as its widest cell; two blanks separate columns.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let header = header.iter().map(|name| (*name).to_owned()).collect();
    let all = || std::iter::once(&header).chain(rows);
    let width = |column| all().filter_map(|row| row.get(column)).map(String::len).max();
    let widths: Vec<usize> = (0..header.len()).filter_map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<String>>().join("  ").trim_end().to_owned()
    };
    all().map(line).collect()
}

/// One YAML document for each object.
pub(super) fn yaml(manifests: &[Value]) -> anyhow::Result<String> {
    let mut text = String::new();
    for manifest in manifests {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(manifest)?);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_text_keeps_its_lines_and_nothing_else_that_acts_on_a_terminal() {
        assert_eq!(visible("a\u{202e}b\n\u{1b}[2Jc\u{2028}\n"), "a\\u{202e}b\n\\u{1b}[2Jc\\u{2028}\n");
    }

    #[test]
    fn a_path_in_a_command_to_type_is_one_word() {
        for (path, word) in [
            ("/tmp/a-b_c.d", "/tmp/a-b_c.d"),
            ("projekte/größe", "projekte/größe"),
            ("my plugins/a", "'my plugins/a'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(path), word);
        }
    }
}
