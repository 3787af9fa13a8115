//! What is wrong with a file, and where.

use std::{fmt, path::PathBuf};

use informer_types::one_line;
use serde::Serialize;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The path of the key: `plugin.deployment-logger.on[0].watch`; empty for the file as a whole.
    pub key: String,
    /// What was found.
    pub message: String,
    /// What would be right, if that is known.
    pub remedy: Option<String>,
}

/// A file that is not a configuration: every problem of it, sorted by position.
///
/// Displays as one line per problem, `informer.toml:12:9: watch[0].gvr: what was found; what would be right`,
/// and a last line with the number of problems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct ConfigError {
    /// The name that the caller gave.
    pub file: PathBuf,
    /// Never empty.
    pub problems: Vec<Problem>,
}

/// A value with its place in the file and its name, for the text of a problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Located<T> {
    pub(super) value: T,
    /// The byte of the text where it starts.
    pub(super) at: usize,
    /// `plugin.deployment-logger.on[0].watch`
    pub(super) key: String,
}

/// A problem without its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    message: String,
    remedy: Option<String>,
}

/// Collects the problems of one text.
pub(super) struct Problems<'t> {
    text: &'t str,
    found: Vec<Problem>,
}

// === impl Problem ===

impl Problem {
    /// The problem without its line and column: `spec.on[0].watch: what was found; what would be right`.
    pub(crate) fn without_place(&self) -> String {
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{}: {}{remedy}", self.key, self.message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

// === impl ConfigError ===

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        for problem in &self.problems {
            writeln!(f, "{file}:{problem}")?;
        }
        match self.problems.len() {
            1 => write!(f, "1 problem in {file}"),
            count => write!(f, "{count} problems in {file}"),
        }
    }
}

// === impl Located ===

impl<T> Located<T> {
    /// Another value at the same place.
    pub(super) fn with<U>(&self, value: U) -> Located<U> {
        Located { value, at: self.at, key: self.key.clone() }
    }
}

// === impl Fault ===

impl Fault {
    pub(super) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn without_remedy(message: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: None }
    }

    /// From an error text of this project, which ends with `; ` and what would be right.
    pub(super) fn of(error: &impl fmt::Display) -> Self {
        let text = error.to_string();
        match text.rsplit_once("; ") {
            Some((message, remedy)) => Self::new(message, remedy),
            None => Self::without_remedy(text),
        }
    }
}

// === impl Problems ===

impl<'t> Problems<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, found: Vec::new() }
    }

    /// Adds a problem of `key` at this byte of the text.
    pub(super) fn add(&mut self, at: usize, key: &str, fault: Fault) {
        let (line, column) = self.position(at);
        self.found.push(Problem {
            line,
            column,
            key: one_line(key).to_string(),
            message: one_line(&fault.message).to_string(),
            remedy: fault.remedy.map(|remedy| one_line(&remedy).to_string()),
        });
    }

    /// Adds a problem of this value.
    pub(super) fn refuse<T>(&mut self, what: &Located<T>, fault: Fault) {
        self.add(what.at, &what.key, fault);
    }

    /// The line of this byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.position(at).0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn into_error(mut self, file: PathBuf) -> ConfigError {
        self.found.sort();
        // A problem of `[defaults]` is found again for each plugin.
        self.found.dedup();
        ConfigError { file, problems: self.found }
    }

    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..self.text.floor_char_boundary(at)).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        (line, 1 + before.get(start..).unwrap_or_default().chars().count())
    }
}

/// Several texts as one.
pub(super) fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    texts.map(String::as_str).collect::<Vec<&str>>().join(". ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_counts_characters_and_not_bytes() {
        let text = "a = 1\n# \u{e9}\u{e9} x";

        assert_eq!(Problems::new(text).position(text.len() - 1), (2, 6));
        assert_eq!(Problems::new(text).position(9), (2, 3), "inside a character");
        assert_eq!(Problems::new(text).position(usize::MAX), (2, 7));
        assert_eq!(Problems::new("").position(0), (1, 1));
    }

    #[test]
    fn a_problem_is_one_line_whatever_the_file_contains() {
        let mut problems = Problems::new("x");

        problems.add(0, "a\nb", Fault::new("found `\u{1b}[31m\n`", "do"));

        let shown = problems.into_error("f.toml".into()).to_string();
        assert_eq!(shown, "f.toml:1:1: a\\nb: found `\\u{1b}[31m\\n`; do\n1 problem in f.toml");
    }
}
