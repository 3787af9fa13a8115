//! Splits Rust source into code, comments and string literals.

use std::ops::Range;

/// A piece of prose: the comments of consecutive lines, or one string literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prose {
    /// The line that it begins on, from 1.
    pub line: usize,
    /// The text without comment markers or quotes. Lines are separated by `\n`.
    pub text: String,
    /// `///`, `//!` or `//` for a comment, `"` for a string.
    pub kind: &'static str,
}

/// One identifier, number or punctuation mark of the code. `::` is one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The line that it stands on, from 1.
    pub line: usize,
    /// The token itself.
    pub text: &'a str,
}

/// A Rust file, taken apart.
#[derive(Debug)]
pub struct Rust {
    /// The source with blanks in place of comments and of the contents of literals; the lines are those of the source.
    pub code: String,
    /// All comments, in order.
    pub comments: Vec<Prose>,
    /// All string literals, in order.
    pub strings: Vec<Prose>,
}

impl Rust {
    /// Takes a source apart.
    #[must_use]
    pub fn parse(source: &str) -> Self {
        let mut scanner =
            Scanner { rest: source, line: 1, code: String::new(), comments: Vec::new(), strings: Vec::new() };
        while scanner.step() {}
        Self { comments: join(scanner.comments, &scanner.code), code: scanner.code, strings: scanner.strings }
    }

    /// The tokens of the code.
    #[must_use]
    pub fn tokens(&self) -> Vec<Token<'_>> {
        let lines = self.code.lines().enumerate();
        lines.flat_map(|(index, line)| line_tokens(line, index + 1)).collect()
    }

    /// The tokens of the code without modules marked `#[cfg(test)]`.
    #[must_use]
    pub fn tokens_without_tests(&self) -> Vec<Token<'_>> {
        let tests = self.test_lines();
        let all = self.tokens().into_iter();
        all.filter(|token| !tests.iter().any(|range| range.contains(&token.line))).collect()
    }

    /// The lines of modules marked `#[cfg(test)]` whose body is in this file.
    #[must_use]
    pub fn test_lines(&self) -> Vec<Range<usize>> {
        let tokens = self.tokens();
        let marker = ["#", "[", "cfg", "(", "test", ")", "]"];
        let marked = tokens.windows(marker.len()).enumerate();
        let starts =
            marked.filter(|(_, window)| window.iter().map(|token| token.text).eq(marker)).map(|(at, _)| at);
        starts.filter_map(|at| module_lines(tokens.get(at..)?, marker.len())).collect()
    }
}

/// The lines of `#[cfg(test)] mod name { .. }`, or `None` if something else follows the marker.
fn module_lines(tokens: &[Token<'_>], marker: usize) -> Option<Range<usize>> {
    let [keyword, _name, brace] = tokens.get(marker..marker + 3)? else { return None };
    if keyword.text != "mod" || brace.text != "{" {
        return None;
    }
    let end = closing(tokens.get(marker + 2..)?)?;
    Some(tokens.first()?.line..end.line + 1)
}

/// The brace that closes the one that `tokens` begin with.
pub(crate) fn closing<'a>(tokens: &[Token<'a>]) -> Option<Token<'a>> {
    let mut depth = 0_usize;
    for token in tokens {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(*token);
        }
    }
    None
}

fn line_tokens(line: &str, number: usize) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (text, after) = rest.split_at(length);
        found.push(Token { line: number, text });
        rest = after.trim_start();
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Joins comments of consecutive lines that stand alone on their lines and have the same marker.
fn join(comments: Vec<Prose>, code: &str) -> Vec<Prose> {
    let bare: Vec<bool> = code.lines().map(|line| line.trim().is_empty()).collect();
    let alone = |line: usize| bare.get(line - 1).copied().unwrap_or(true);
    let mut joined: Vec<Prose> = Vec::new();
    for comment in comments {
        match joined.last_mut() {
            Some(last)
                if last.kind == comment.kind
                    && last.line + last.text.split('\n').count() == comment.line
                    && alone(comment.line)
                    && alone(last.line) =>
            {
                last.text.push('\n');
                last.text.push_str(&comment.text);
            }
            _ => joined.push(comment),
        }
    }
    joined
}

struct Scanner<'a> {
    rest: &'a str,
    line: usize,
    code: String,
    comments: Vec<Prose>,
    strings: Vec<Prose>,
}

impl Scanner<'_> {
    /// Reads one character, comment or literal. Returns false at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            self.line_comment();
        } else if self.rest.starts_with("/*") {
            let length = block_comment(self.rest);
            self.blank(length);
        } else if let Some((open, length, close)) = self.string() {
            self.keep_string(open, length, close);
        } else if first == '\'' {
            self.quote();
        } else {
            if first == '\n' {
                self.line += 1;
            }
            self.code.push(first);
            self.rest = self.rest.get(first.len_utf8()..).unwrap_or_default();
        }
        true
    }

    fn line_comment(&mut self) {
        let length = self.rest.find('\n').unwrap_or(self.rest.len());
        let whole = self.rest.get(..length).unwrap_or_default();
        let kind = ["///", "//!", "//"].into_iter().find(|marker| whole.starts_with(marker)).unwrap_or("//");
        let text = whole.trim_start_matches(kind).trim().to_owned();
        self.comments.push(Prose { line: self.line, text, kind });
        self.blank(length);
    }

    /// The lengths of the opening quote, of the whole literal and of the closing quote, if a string begins here.
    fn string(&self) -> Option<(usize, usize, usize)> {
        let after_word = self.code.chars().next_back().is_some_and(is_word);
        let prefix = self.rest.find(|c: char| !"bcr".contains(c)).unwrap_or(0);
        if prefix > 0 && after_word {
            return None;
        }
        let letters = self.rest.get(..prefix)?;
        let quoted = self.rest.get(prefix..)?;
        if letters.ends_with('r') {
            let hashes = quoted.find(|c| c != '#')?;
            let body = quoted.get(hashes..)?.strip_prefix('"')?;
            let end = format!("\"{}", "#".repeat(hashes));
            let length = body.find(&end)?;
            return Some((prefix + hashes + 1, prefix + hashes + 1 + length + end.len(), end.len()));
        }
        let body = quoted.strip_prefix('"')?;
        let mut escaped = false;
        let length = body.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        Some((prefix + 1, prefix + 1 + length + 1, 1))
    }

    fn keep_string(&mut self, open: usize, length: usize, close: usize) {
        let text = self.rest.get(open..length - close).unwrap_or_default().to_owned();
        self.strings.push(Prose { line: self.line, text, kind: "\"" });
        self.code.push('"');
        self.blank(length);
        self.code.push('"');
    }

    /// A character literal, or a lifetime.
    fn quote(&mut self) {
        let after = self.rest.get(1..).unwrap_or_default();
        let mut chars = after.chars();
        let length = match (chars.next(), chars.next()) {
            (Some('\\'), _) => after.char_indices().skip(2).find(|(_, c)| *c == '\'').map(|(at, _)| at + 2),
            (Some(c), Some('\'')) => Some(c.len_utf8() + 2),
            _ => None,
        };
        if length.is_none() {
            self.code.push('\'');
        }
        self.blank_or_skip(length);
    }

    fn blank_or_skip(&mut self, length: Option<usize>) {
        match length {
            Some(length) => self.blank(length),
            None => self.rest = self.rest.get(1..).unwrap_or_default(),
        }
    }

    /// Drops the next `length` bytes but keeps their line ends.
    fn blank(&mut self, length: usize) {
        let (dropped, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        let lines = dropped.matches('\n').count();
        self.line += lines;
        self.code.push_str(if lines == 0 { " " } else { "" });
        self.code.push_str(&"\n".repeat(lines));
        self.rest = rest;
    }
}

/// The length of the block comment that `text` begins with; block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, _) in text.char_indices() {
        let here = text.get(at..).unwrap_or_default();
        if here.starts_with("/*") {
            depth += 1;
        } else if here.starts_with("*/") {
            depth -= 1;
            if depth == 0 {
                return at + 2;
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_code_are_distinguished() {
        let source = "/// A promise.\n/// Its second line.\nfn f<'a>(c: &'a str) { // why\n    g(\"a // b\", '\"', r#\"q\"u\"#); }\n";

        let rust = Rust::parse(source);

        let comments: Vec<_> = rust.comments.iter().map(|found| (found.line, found.text.as_str())).collect();
        assert_eq!(comments, [(1, "A promise.\nIts second line."), (3, "why")]);
        let strings: Vec<_> = rust.strings.iter().map(|found| (found.line, found.text.as_str())).collect();
        assert_eq!(strings, [(4, "a // b"), (4, "q\"u")]);
        assert!(!rust.code.contains("why") && rust.code.contains("fn f<'a>"), "{}", rust.code);
        assert_eq!(rust.code.lines().count(), source.lines().count());
    }

    #[test]
    fn a_quote_in_a_block_comment_begins_no_string() {
        let rust = Rust::parse("/* don't \" /* nested */ */ fn f() {}\nlet s = \"\\\"x\";");

        assert_eq!(rust.strings.len(), 1);
        assert!(rust.code.contains("fn f()"));
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        let rust = Rust::parse("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n");

        let names: Vec<_> = rust.tokens_without_tests().iter().map(|token| token.text).collect();
        assert!(names.contains(&"a") && names.contains(&"c") && !names.contains(&"b"), "{names:?}");
    }
}
