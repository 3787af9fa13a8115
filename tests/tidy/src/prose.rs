//! Words and phrases that the prose of this project avoids.

use crate::{
    items::functions,
    rust::{Prose, Rust},
    tree::SourceFile,
};

/// A phrase to avoid, and what to write instead.
///
/// A phrase is a row of words in lower case; `,` and `:` are words too. `^` means the start of a sentence, with a capital letter.
pub type Phrase = (&'static str, &'static str);

/// The phrases that the project avoids. "Prose" in CONVENTIONS explains them.
pub const PHRASES: &[Phrase] = &[
    ("whoever", "name it: the caller, the subscriber, a reader"),
    ("whomever", "name it: the subscriber"),
    ("whom", "name it: the subscriber, the caller"),
    ("somebody", "name it: a caller, a client, an operator"),
    ("nobody", "name it: no subscriber, no worker"),
    ("so many", "N, or the name of the number"),
    ("for so long", "for that time, or the name of the duration"),
    ("so long as", "while"),
    ("none :", "`None` means .., or: Returns `None` if .."),
    ("none where", "`None` if"),
    ("none once", "`None` after"),
    ("true where", "true if"),
    ("false where", "false if"),
    ("^where it", "If it"),
    ("^where there", "If there"),
    ("^where a", "If a"),
    ("^where an", "If an"),
    ("^where the", "If the"),
    ("^where they", "If they"),
    ("^where nothing", "If nothing"),
    ("^where one", "If one"),
    ("in hand", "in flight"),
    ("take over", "replace"),
    ("takes over", "replaces"),
    ("took over", "replaced"),
    ("gives way", "yields"),
    ("give way", "yield"),
    ("lets pass", "lets through, or promotes"),
    ("has it that", "says that"),
    (", none is", "the positive statement"),
    ("is none of", "does not count as"),
    ("^of a", "If a .., or move it behind the verb"),
    ("^of an", "If an .., or move it behind the verb"),
    ("^of the", "move it behind the verb"),
    ("^of its", "move it behind the verb"),
    ("^of each", "Each .."),
    ("^of one", "move it behind the verb"),
    ("^of what", "name it, behind the verb"),
    ("^of several", "If there are several, .."),
    ("^of all", "All .."),
    ("^of them", "name it, behind the verb"),
    ("^of both", "Both .."),
];

/// Words that begin a fragment if a whole comment is one short sentence after them, as "By name.".
const FRAGMENTS: &[&str] = &["where", "whether", "as", "so", "since", "by", "of"];

/// A place in a file, with what is wrong there.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// The phrase, and what to write instead.
    pub problem: String,
}

/// All places of a file that use a phrase to avoid: in comments, strings and test names of Rust, in comments of WIT and TOML, and
/// in the text of Markdown.
#[must_use]
pub fn check(file: &SourceFile) -> Vec<Finding> {
    let mut found: Vec<Finding> = passages(file).iter().flat_map(phrases).collect();
    found.sort_by_key(|finding| finding.line);
    found
}

/// The comments of a file, in any of the languages that are checked.
#[must_use]
pub fn comments(file: &SourceFile) -> Vec<Prose> {
    match file.path.rsplit('.').next() {
        Some("rs") => Rust::parse(&file.text).comments,
        Some("wit") => marked(&file.text, "//"),
        Some("toml") => marked(&file.text, "#"),
        _ => Vec::new(),
    }
}

fn passages(file: &SourceFile) -> Vec<Prose> {
    if file.is("rs") {
        let rust = Rust::parse(&file.text);
        let tests = functions(&rust).into_iter().filter(|function| function.is_test);
        let names =
            tests.map(|test| Prose { line: test.line, text: test.name.replace('_', " "), kind: "fn" });
        return names.chain(rust.comments.iter().cloned()).chain(rust.strings.iter().cloned()).collect();
    }
    if file.is("md") { markdown(&file.text) } else { comments(file) }
}

/// Comments that stand alone on their lines; consecutive ones are one passage.
fn marked(text: &str, marker: &str) -> Vec<Prose> {
    let mut found: Vec<Prose> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix(marker) else { continue };
        let comment = comment.trim_start_matches(['/', '#']).trim();
        match found.last_mut() {
            Some(last) if last.line + last.text.split('\n').count() == index + 1 => {
                last.text.push('\n');
                last.text.push_str(comment);
            }
            _ => found.push(Prose { line: index + 1, text: comment.to_owned(), kind: "//" }),
        }
    }
    found
}

/// The paragraphs of a document without its blocks of code.
fn markdown(text: &str) -> Vec<Prose> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut paragraph = Prose { line: 1, text: String::new(), kind: "md" };
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if fenced || fence || line.trim().is_empty() || line.starts_with(['|', '-', '#']) {
            found.push(std::mem::replace(
                &mut paragraph,
                Prose { line: index + 1, text: String::new(), kind: "md" },
            ));
        }
        if !fenced && !fence {
            if paragraph.text.is_empty() {
                paragraph.line = index + 1;
            } else {
                paragraph.text.push('\n');
            }
            paragraph.text.push_str(line);
        }
    }
    found.push(paragraph);
    found.retain(|passage| !passage.text.trim().is_empty());
    found
}

#[derive(Debug)]
struct Word {
    line: usize,
    text: String,
    /// True if a sentence begins with it.
    begins: bool,
}

fn phrases(passage: &Prose) -> Vec<Finding> {
    let words = words(passage);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let rest = words.get(at..).unwrap_or_default();
        for (phrase, instead) in PHRASES {
            if matches(rest, phrase) {
                let problem = format!("\"{}\": write {instead}", phrase.trim_start_matches('^'));
                found.push(Finding { line: word.line, problem });
            }
        }
    }
    found.extend(fragment(passage, &words));
    found
}

fn matches(words: &[Word], phrase: &str) -> bool {
    let anchored = phrase.starts_with('^');
    let mut words = words.iter();
    phrase.trim_start_matches('^').split(' ').enumerate().all(|(at, wanted)| {
        words.next().is_some_and(|word| word.text == wanted && (at > 0 || !anchored || word.begins))
    })
}

/// A doc comment that is one sentence without a comma, and begins as a fragment does.
fn fragment(passage: &Prose, words: &[Word]) -> Option<Finding> {
    let first = words.first()?;
    let short = !words.iter().rev().skip(1).any(|word| [".", ",", ":", ";"].contains(&word.text.as_str()));
    (["///", "//!"].contains(&passage.kind) && short && FRAGMENTS.contains(&first.text.as_str())).then(|| {
        Finding {
            line: first.line,
            problem: format!("a fragment that begins with \"{}\": write a sentence", first.text),
        }
    })
}

/// Splits a passage into words. Code between backticks is one word without letters.
fn words(passage: &Prose) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut in_code = false;
    for (index, line) in passage.text.lines().enumerate() {
        let line_number = passage.line + index;
        let mut current = String::new();
        for c in line.chars().chain(['\n']) {
            if c == '`' {
                in_code = !in_code;
                current.push(c);
            } else if in_code {
            } else if c.is_alphanumeric() || c == '\'' || c == '-' || c == '_' {
                current.push(c);
            } else {
                push(&mut found, line_number, &current);
                current.clear();
                if ".,:;|!?".contains(c) {
                    push(&mut found, line_number, c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }
    found
}

fn push(words: &mut Vec<Word>, line: usize, text: &str) {
    let text = text.trim_matches(['-', '\'']);
    if !text.is_empty() {
        let after_end = words.last().is_none_or(|last| [".", "|", "!", "?"].contains(&last.text.as_str()));
        let begins = after_end && text.starts_with(char::is_uppercase);
        words.push(Word { line, text: text.to_lowercase(), begins });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        check(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn phrases_are_found_in_comments_strings_and_names_of_tests() {
        let text = "/// The call that\n/// somebody made.\nfn f() { log(\"none: all\"); }\n#[test]\nfn nobody_waits() {}\n";

        assert_eq!(problems("a.rs", text), [2, 3, 5]);
    }

    #[test]
    fn phrases_are_found_over_the_end_of_a_line_and_at_the_start_of_a_sentence() {
        assert_eq!(problems("a.md", "It waits for so\nmany events. Of a list, some."), [1, 2]);
        assert_eq!(problems("a.wit", "/// Fine.\n\n/// It takes over.\n"), [3]);
        assert_eq!(problems("a.toml", "a = 1\n# True where set.\n"), [2]);
    }

    #[test]
    fn code_and_plain_words_are_left_alone() {
        assert_eq!(
            problems("a.rs", "fn whoever() { nobody(); }\n/// The length of a list; `none: 1`.\nfn f() {}\n"),
            []
        );
        assert_eq!(problems("a.md", "```text\nnobody\n```\nThe name of the list.\n"), []);
    }

    #[test]
    fn a_fragment_is_no_sentence() {
        assert_eq!(problems("a.rs", "/// By name.\nfn f() {}\n"), [1]);
        assert_eq!(problems("a.rs", "/// By default, it is off.\nfn f() {}\n"), []);
    }
}
