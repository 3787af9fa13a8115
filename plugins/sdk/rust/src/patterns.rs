//! Lists of names and regular expressions, as annotations have them. This needs the feature `patterns`.
//!
//! Users who may write one object write such lists, so a list has limits: no list keeps the plugin from its other objects.

use regex_lite::{Regex, RegexBuilder};

/// The most regular expressions of a list. Names do not count.
const MOST_EXPRESSIONS: usize = 100;

/// The longest regular expression, in bytes.
const LONGEST: usize = 1024;

/// The most memory of one compiled expression. It limits the time of a search as well.
const COMPILED_BYTES: usize = 16 << 10;

/// The entries of a list: names, and regular expressions that match whole names. An expression may have 1,024 bytes. A list may
/// have any number of names and 100 expressions. Further expressions match nothing ([`is_cut`](Self::is_cut)).
///
/// ```
/// let list = informer_sdk::patterns::Patterns::parse("shop, team-.*");
/// assert!(list.matches("team-a") && !list.matches("my-team-a"));
/// ```
#[derive(Debug, Default)]
pub struct Patterns {
    entries: Vec<Pattern>,
    problems: Vec<String>,
    is_cut: bool,
}

#[derive(Debug)]
enum Pattern {
    Name(String),
    Expression(Regex),
}

/// Why an entry is no pattern.
#[derive(Debug, thiserror::Error)]
enum Invalid {
    #[error("it has more than {LONGEST} bytes")]
    Long,
    #[error(transparent)]
    Syntax(#[from] regex_lite::Error),
}

// === impl Patterns ===

impl Patterns {
    /// Parses entries with commas between them. An entry that is neither a name nor a regular expression matches nothing, and is
    /// one of the [`problems`](Self::problems).
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::of(text.split(','))
    }

    /// Parses entries as [`parse`](Self::parse) does. Empty ones are ignored.
    #[must_use]
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut patterns, mut expressions) = (Self::default(), 0);
        for entry in entries.into_iter().map(str::trim).filter(|entry| !entry.is_empty()) {
            if is_name(entry) {
                patterns.entries.push(Pattern::Name(entry.to_owned()));
                continue;
            }
            expressions += 1;
            if expressions > MOST_EXPRESSIONS {
                continue;
            }
            match expression(entry) {
                Ok(expression) => patterns.entries.push(Pattern::Expression(expression)),
                Err(error) => patterns.problems.push(format!(
                    "`{}` is neither a name nor a regular expression: {error}",
                    shortened(entry)
                )),
            }
        }
        if expressions > MOST_EXPRESSIONS {
            patterns.is_cut = true;
            patterns.problems.push(format!(
                "it has more than {MOST_EXPRESSIONS} regular expressions: join some of them with `|`"
            ));
        }
        patterns
    }

    /// Returns true if an entry matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.entries.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns true if no entry is valid, so that no name matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries that are names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|pattern| match pattern {
            Pattern::Name(name) => Some(name.as_str()),
            Pattern::Expression(_) => None,
        })
    }

    /// Returns true if an entry is a regular expression, so that names that are not in the list may match.
    #[must_use]
    pub fn has_expressions(&self) -> bool {
        self.entries.iter().any(|pattern| matches!(pattern, Pattern::Expression(_)))
    }

    /// Returns true if the list has more expressions than are allowed, so that the further ones match nothing. One of the
    /// [`problems`](Self::problems) is about it.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What is wrong with entries, for a line of the log. At most 101 sentences.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

// === impl Pattern ===

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Expression(expression) => expression.is_match(name),
        }
    }
}

fn is_name(entry: &str) -> bool {
    entry.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn expression(entry: &str) -> Result<Regex, Invalid> {
    if entry.len() > LONGEST {
        return Err(Invalid::Long);
    }
    let compile = |text: &str| RegexBuilder::new(text).size_limit(COMPILED_BYTES).build();
    // The entry must be an expression of its own: `a)|(b` would otherwise leave the group.
    compile(entry)?;
    Ok(compile(&format!("^(?:{entry})$"))?)
}

/// The start of an entry, for a line of the log.
fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_expressions_match_whole_names() {
        for (text, namespace, expected) in [
            ("shop", "shop", true),
            ("shop", "shop-2", false),
            ("team-.*, shop", "team-a", true),
            ("team-.*, shop", "my-team-a", false),
            ("team-[0-9]+", "team-12", true),
            ("team-[0-9]+", "team-12b", false),
            ("a|b", "b", true),
            ("a|b", "ab", false),
            ("^team-.*$", "team-a", true),
            (".*", "anything", true),
            ("", "anything", false),
            (" , ", "anything", false),
        ] {
            assert_eq!(Patterns::parse(text).matches(namespace), expected, "{text} {namespace}");
        }
    }

    #[test]
    fn an_entry_without_a_meaning_is_reported_and_the_others_count() {
        let patterns = Patterns::parse("team-(, shop, a)|(b");

        assert!(patterns.matches("shop"));
        assert_eq!(patterns.problems.len(), 2);
        assert!(patterns.problems[0].starts_with("`team-(` is neither"), "{:?}", patterns.problems);
        assert!(!patterns.matches("a"), "`a)|(b` would match every name that begins with an a");
    }

    #[test]
    fn names_are_distinguished_from_expressions() {
        let patterns = Patterns::parse("app-1, app.conf");

        assert_eq!(patterns.names().collect::<Vec<_>>(), ["app-1"], "a point stands for any character");
        assert!(patterns.has_expressions());
        assert!(!Patterns::parse("app-1").has_expressions());
    }

    #[test]
    fn a_list_that_asks_for_too_much_is_reported_and_its_names_count() {
        let exploding =
            ["(x{1000}){1000}", "((((((a*)*)*)*)*)*)*b{1000}", &"a?".repeat(50_000), "(a|b|ab)*{500}"];
        for entry in exploding {
            let patterns = Patterns::parse(&format!("shop, {entry}"));
            assert!(patterns.matches("shop"));
            assert!(!patterns.matches(&"x".repeat(63)), "{}", shortened(entry));
            let problem = patterns.problems.first().map_or(0, String::len);
            assert!(problem < 400, "{:?}", patterns.problems);
        }
        let many = format!("{}shop", "team-.,".repeat(30_000));
        let patterns = Patterns::parse(&many);
        assert_eq!(
            patterns.problems,
            ["it has more than 100 regular expressions: join some of them with `|`"]
        );
        assert!(patterns.is_cut() && patterns.matches("team-a"));
        assert!(patterns.matches("shop"), "a name behind the last expression counts");
        let further = format!("{}other-.*", "team-.,".repeat(100));
        assert!(!Patterns::parse(&further).matches("other-a"));
        assert!(!Patterns::parse(&"team-.,".repeat(100)).is_cut());
        let names = format!("{}team-b", "team-a,".repeat(30_000));
        assert!(Patterns::parse(&names).matches("team-b"), "names have no limit");
    }
}
