//! The problems of a file, with their places.

use std::{
    borrow::Cow,
    fmt,
    ops::Range,
    path::{Path, PathBuf},
};

use informer_types::one_line;
use serde::{Serialize, Serializer};

use super::written::without_passwords;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The file, as the caller or `include` names it.
    #[serde(serialize_with = "shown")]
    pub file: PathBuf,
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

/// A file that is not a configuration: every problem of it and of the files that it includes, sorted by file and position.
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
    /// The byte of its start in the texts of [`Problems`], as if one text followed the other.
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

/// Collects the problems of one text, or of several that are read one after the other. A place is a byte of these texts,
/// as if each began where the previous one ends.
pub(super) struct Problems<'t> {
    /// Never empty. The last one is being read.
    texts: Vec<Text<'t>>,
    found: Vec<Problem>,
}

/// A text, and what its places and paths refer to.
struct Text<'t> {
    file: PathBuf,
    /// The directory that paths in the text are relative to.
    base: PathBuf,
    text: Cow<'t, str>,
    /// The place of its first byte.
    start: usize,
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
        write!(f, "{}:{}:{}: ", self.file.display(), self.line, self.column)?;
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
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        let elsewhere = self.problems.iter().any(|problem| problem.file != self.file);
        let included = if elsewhere { " and the files that it includes" } else { "" };
        match self.problems.len() {
            1 => write!(f, "1 problem in {}{included}", self.file.display()),
            count => write!(f, "{count} problems in {}{included}", self.file.display()),
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
    /// The problems of a text from this file. Paths in it are relative to `base`.
    pub(super) fn new(file: &Path, base: &Path, text: &'t str) -> Self {
        let text = Text { file: file.to_owned(), base: base.to_owned(), text: Cow::Borrowed(text), start: 0 };
        Self { texts: vec![text], found: Vec::new() }
    }

    /// Goes on with the text of another file: places of spans are in this text from now on.
    pub(super) fn begin(&mut self, file: PathBuf, base: PathBuf, text: String) {
        // One byte more, so that the end of a text is not the start of the next one.
        let start = self.texts.last().map_or(0, |text| text.start + text.text.len() + 1);
        self.texts.push(Text { file, base, text: Cow::Owned(text), start });
    }

    /// The place of a part of the text that is being read.
    pub(super) fn place(&self, span: Range<usize>) -> usize {
        self.texts.last().map_or(0, |text| text.start) + span.start
    }

    /// Adds a problem of `key` at this place.
    pub(super) fn add(&mut self, at: usize, key: &str, fault: Fault) {
        let (file, (line, column)) = match self.text(at) {
            Some(text) => (text.file.clone(), text.position(at)),
            None => (PathBuf::new(), (1, 1)),
        };
        self.found.push(Problem {
            file,
            line,
            column,
            key: one_line(key).to_string(),
            // Both may repeat a URL of the file.
            message: one_line(&without_passwords(&fault.message)).to_string(),
            remedy: fault.remedy.map(|remedy| one_line(&without_passwords(&remedy)).to_string()),
        });
    }

    /// Adds a problem of this value.
    pub(super) fn refuse<T>(&mut self, what: &Located<T>, fault: Fault) {
        self.add(what.at, &what.key, fault);
    }

    /// The line of `earlier` for a problem at `at`: `on line 7`, with the name of the file if it is another one.
    pub(super) fn line(&self, earlier: usize, at: usize) -> String {
        let Some(text) = self.text(earlier) else { return String::new() };
        let (line, _) = text.position(earlier);
        if self.is_same_file(earlier, at) {
            format!("on line {line}")
        } else {
            format!("on line {line} of {}", text.file.display())
        }
    }

    /// Returns true if both places are in one file.
    pub(super) fn is_same_file(&self, one: usize, other: usize) -> bool {
        let start = |at| self.text(at).map(|text| text.start);
        start(one) == start(other)
    }

    /// The file of the text that is being read, relative to the first one. Returns `None` for the first one.
    pub(super) fn included(&self) -> Option<&Path> {
        let (first, last) = self.texts.first().zip(self.texts.last())?;
        let is_included = self.texts.len() > 1;
        is_included.then(|| last.file.strip_prefix(&first.base).unwrap_or(&last.file))
    }

    /// Returns true if this is the absolute path of the first file.
    pub(super) fn is_first(&self, path: &Path) -> bool {
        let own = |text: &Text<'_>| text.file.file_name().map(|name| text.base.join(name));
        self.texts.first().and_then(own).is_some_and(|own| own == *path)
    }

    /// The directory that a path at this place is relative to.
    pub(super) fn base(&self, at: usize) -> &Path {
        self.text(at).map_or(Path::new(""), |text| &text.base)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns true if a problem of this key or of an element of it was found.
    pub(super) fn has(&self, key: &str) -> bool {
        let mut rests = self.found.iter().filter_map(|problem| problem.key.strip_prefix(key));
        rests.any(|rest| rest.is_empty() || rest.starts_with('['))
    }

    /// All problems of the first text and of the files that it includes.
    pub(super) fn into_error(mut self) -> ConfigError {
        let order: Vec<PathBuf> = self.texts.iter().map(|text| text.file.clone()).collect();
        let place = |problem: &Problem| order.iter().position(|file| *file == problem.file);
        self.found.sort_by(|one, other| place(one).cmp(&place(other)).then_with(|| one.cmp(other)));
        // A problem of `[defaults]` is found again for each plugin.
        self.found.dedup();
        ConfigError { file: order.into_iter().next().unwrap_or_default(), problems: self.found }
    }

    /// The text of a place.
    fn text(&self, at: usize) -> Option<&Text<'t>> {
        self.texts.iter().rev().find(|text| text.start <= at)
    }
}

// === impl Text ===

impl Text<'_> {
    /// The line and the column of a place in this text.
    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..self.text.floor_char_boundary(at - self.start)).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        (line, 1 + before.get(start..).unwrap_or_default().chars().count())
    }
}

/// Writes a path as text: bytes that are not UTF-8 become `\u{fffd}`.
fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Several texts as one.
pub(super) fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    texts.map(String::as_str).collect::<Vec<&str>>().join(". ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Problems<'_> {
        Problems::new(Path::new("f.toml"), Path::new("/etc"), text)
    }

    fn position(text: &str, at: usize) -> (usize, usize) {
        problems(text).texts[0].position(at)
    }

    #[test]
    fn a_column_counts_characters_and_not_bytes() {
        let text = "a = 1\n# \u{e9}\u{e9} x";

        assert_eq!(position(text, text.len() - 1), (2, 6));
        assert_eq!(position(text, 9), (2, 3), "inside a character");
        assert_eq!(position(text, usize::MAX), (2, 7));
        assert_eq!(position("", 0), (1, 1));
    }

    #[test]
    fn a_problem_is_one_line_whatever_the_file_contains() {
        let mut problems = problems("x");

        problems.add(0, "a\nb", Fault::new("found `\u{1b}[31m\n`", "do"));

        let shown = problems.into_error().to_string();
        assert_eq!(shown, "f.toml:1:1: a\\nb: found `\\u{1b}[31m\\n`; do\n1 problem in f.toml");
    }

    #[test]
    fn a_problem_does_not_show_the_password_of_a_url() {
        let mut problems = problems("x");

        let remedy = "do `https://me:hunter2@c`";
        problems.add(0, "a", Fault::new("`https://me:hunter2@a b` is not a URL, and `http://b` is", remedy));

        let shown = problems.into_error().to_string();
        let expected = "f.toml:1:1: a: `https://***@a b` is not a URL, and `http://b` is; do `https://***@c`\n\
                        1 problem in f.toml";
        assert_eq!(shown, expected);
    }

    #[test]
    fn places_of_several_texts_are_in_the_text_that_was_read_then() {
        let mut problems = problems("one\n");
        let end = problems.place(4..4);
        problems.begin("b.toml".into(), "/opt".into(), "\nsecond".to_owned());
        let second = problems.place(1..7);
        assert_eq!(problems.line(second, end), "on line 2 of b.toml");
        assert_eq!(problems.line(end, end), "on line 2");
        assert_eq!((problems.base(end), problems.base(second)), (Path::new("/etc"), Path::new("/opt")));

        problems.add(second, "b", Fault::without_remedy("wrong"));
        problems.add(end, "a", Fault::without_remedy("wrong"));

        let shown = problems.into_error().to_string();
        let expected =
            "f.toml:2:1: a: wrong\nb.toml:2:1: b: wrong\n2 problems in f.toml and the files that it includes";
        assert_eq!(shown, expected);
    }
}
