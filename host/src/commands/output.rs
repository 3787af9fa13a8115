//! How a command prints its result.

use crate::{admin::Answer, cli::Output};

/// Prints the result of a command.
#[expect(clippy::print_stdout, reason = "the result of the command")]
pub(crate) fn print(text: &str) {
    print!("{text}");
}

/// Prints an answer of the host: the JSON for a program, the words of `text` for a person.
pub(crate) fn show<T>(answer: &Answer<T>, output: Output, text: impl FnOnce(&T) -> String) {
    match output {
        Output::Json => print(&format!("{:#}\n", answer.json)),
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
