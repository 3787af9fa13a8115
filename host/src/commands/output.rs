//! What a command prints, and how it reads what the host answered.

use informer_types::one_line;
use serde_json::Value;

use crate::cli::Output;

/// Prints the answer to a command.
#[expect(clippy::print_stdout, reason = "the answer to the command")]
pub(crate) fn print(text: &str) {
    print!("{text}");
}

/// Prints an answer of the host: as it is for a program, in the words of `text` for a person.
pub(crate) fn show(answer: &Value, output: Output, text: impl FnOnce(&Value) -> String) {
    match output {
        Output::Json => print(&format!("{answer:#}\n")),
        Output::Text => print(&text(&harmless(answer))),
    }
}

/// Each text on one line: what a plugin says of its failures, or calls its keys, is printed on the terminal of an operator.
fn harmless(answer: &Value) -> Value {
    match answer {
        Value::String(text) => one_line(text).to_string().into(),
        Value::Array(entries) => entries.iter().map(harmless).collect(),
        Value::Object(entries) => entries.iter().map(|(key, entry)| (key.clone(), harmless(entry))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => answer.clone(),
    }
}

/// The lines of a table, the header first: each column as wide as its widest cell, two blanks apart.
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

/// The list of that name in an answer of the host; none where it has no such list.
pub(crate) fn entries<'a>(of: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    of.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// The text of that name; `?` where there is none, as in the answer of another version of the host.
pub(crate) fn word<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_text_of_an_answer_is_more_than_one_line_or_moves_the_cursor() {
        let answer = json!({"plugins": [{"failure": "a\nb\u{1b}[2J", "calls": 3, "ok": true, "rate": null}]});

        let shown = json!({"plugins": [{"failure": r"a\nb\u{1b}[2J", "calls": 3, "ok": true, "rate": null}]});
        assert_eq!(harmless(&answer), shown);
    }
}
