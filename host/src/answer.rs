//! What a command prints, and how it reads what the host answered.

use serde_json::Value;

/// Prints the answer to a command.
#[expect(clippy::print_stdout, reason = "the answer to the command")]
pub(crate) fn print(text: &str) {
    print!("{text}");
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
