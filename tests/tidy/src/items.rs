//! Functions, tests and `impl` blocks of a file.

use crate::rust::{Rust, Token, closing};

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// The name.
    pub name: &'a str,
    /// The line of `fn`, from 1.
    pub line: usize,
    /// The number of lines from `fn` to the closing brace.
    pub lines: usize,
    /// True if an attribute whose path ends with `test` marks it.
    pub is_test: bool,
}

/// All functions of a file that have a body.
#[must_use]
pub fn functions(rust: &Rust) -> Vec<Function<'_>> {
    let tokens = rust.tokens();
    let mut found = Vec::new();
    let mut is_test = false;
    let mut rest = tokens.as_slice();
    while let Some((token, after)) = rest.split_first() {
        match token.text {
            "#" => {
                let (last, following) = attribute(after);
                is_test |= last == Some("test");
                rest = following;
                continue;
            }
            "fn" => {
                found.extend(function(token.line, after, is_test));
                is_test = false;
            }
            "pub" | "async" | "const" | "unsafe" => {}
            _ => is_test = false,
        }
        rest = after;
    }
    found
}

/// Reads `[path(..)]`: the last segment of the path, and what follows the attribute.
fn attribute<'a, 'b>(tokens: &'b [Token<'a>]) -> (Option<&'a str>, &'b [Token<'a>]) {
    let tokens = if tokens.first().is_some_and(|token| token.text == "!") {
        tokens.get(1..).unwrap_or_default()
    } else {
        tokens
    };
    let mut depth = 0_usize;
    let mut last = None;
    let mut in_path = true;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "[" => depth += 1,
            "]" => depth = depth.saturating_sub(1),
            "(" | "=" => in_path = false,
            "::" => {}
            word if in_path => last = Some(word),
            _ => {}
        }
        if depth == 0 {
            return (last, tokens.get(at + 1..).unwrap_or_default());
        }
    }
    (last, &[])
}

fn function<'a>(line: usize, tokens: &[Token<'a>], is_test: bool) -> Option<Function<'a>> {
    let name = tokens.first()?.text;
    let body = tokens.iter().position(|token| token.text == "{" || token.text == ";")?;
    let end = closing(tokens.get(body..)?)?;
    (tokens.get(body)?.text == "{").then(|| Function { name, line, lines: end.line + 1 - line, is_test })
}

/// The types that a file has inherent `impl` blocks of, as the segments of the path that is written there.
#[must_use]
pub fn inherent_impls(tokens: &[Token<'_>]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or(";", |token| token.text);
        if token.text == "impl" && ["}", ";", "{", "]", "unsafe"].contains(&before) {
            found.extend(tokens.get(at + 1..).and_then(implemented));
        }
    }
    found
}

/// The path of the type after `impl`. Returns `None` if the block implements a trait.
fn implemented(tokens: &[Token<'_>]) -> Option<Vec<String>> {
    let mut depth = 0_usize;
    let mut path = Vec::new();
    let mut previous = "";
    for token in tokens {
        match token.text {
            "<" => depth += 1,
            ">" if previous != "-" => depth = depth.saturating_sub(1),
            "{" | "where" if depth == 0 => return (!path.is_empty()).then_some(path),
            "for" if depth == 0 => return None,
            "::" => {}
            word if depth == 0 && word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                path.push(word.to_owned());
            }
            _ => {}
        }
        previous = token.text;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_names_lengths_and_marks() {
        let rust = Rust::parse(
            "#[tokio::test(start_paused = true)]\n#[ignore = \"x\"]\nasync fn a() {\n}\nfn b();\nfn c() -> u8 { 1 }\n",
        );

        let found = functions(&rust);

        assert_eq!(
            found,
            [
                Function { name: "a", line: 3, lines: 2, is_test: true },
                Function { name: "c", line: 6, lines: 1, is_test: false },
            ]
        );
    }

    #[test]
    fn inherent_blocks_are_found_and_traits_are_not() {
        let rust = Rust::parse(
            "impl<T: Into<u8>> a::Wide<T> where T: X {}\nimpl fmt::Display for Wide {}\nfn f() -> impl Iterator {}\nimpl Other {}",
        );

        assert_eq!(inherent_impls(&rust.tokens()), [vec!["a", "Wide"], vec!["Other"]]);
    }
}
