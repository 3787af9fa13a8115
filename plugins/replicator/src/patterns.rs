//! Lists of namespaces: names and regular expressions that match whole names.

use regex_lite::Regex;

/// The entries of a list. An entry that is no regular expression matches nothing, and is in `problems`.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    entries: Vec<Pattern>,
    pub(crate) problems: Vec<String>,
}

#[derive(Debug)]
enum Pattern {
    Name(String),
    Expression(Regex),
}

// === impl Patterns ===

impl Patterns {
    /// Parses entries with commas between them.
    pub(crate) fn parse(text: &str) -> Self {
        Self::of(text.split(','))
    }

    /// Parses entries. Empty ones are ignored.
    pub(crate) fn of<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns = Self::default();
        for entry in entries.into_iter().map(str::trim).filter(|entry| !entry.is_empty()) {
            match Pattern::parse(entry) {
                Ok(pattern) => patterns.entries.push(pattern),
                Err(error) => patterns.problems.push(format!(
                    "`{entry}` is neither the name of a namespace nor a regular expression: {error}"
                )),
            }
        }
        patterns
    }

    /// Returns true if an entry matches the whole name.
    pub(crate) fn match_name(&self, namespace: &str) -> bool {
        self.entries.iter().any(|pattern| pattern.matches(namespace))
    }
}

// === impl Pattern ===

impl Pattern {
    fn parse(entry: &str) -> Result<Self, regex_lite::Error> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if entry.bytes().all(is_name) {
            return Ok(Self::Name(entry.to_owned()));
        }
        // The entry must be an expression of its own: `a)|(b` would otherwise leave the group.
        Regex::new(entry)?;
        Regex::new(&format!("^(?:{entry})$")).map(Self::Expression)
    }

    fn matches(&self, namespace: &str) -> bool {
        match self {
            Self::Name(name) => name == namespace,
            Self::Expression(expression) => expression.is_match(namespace),
        }
    }
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
            assert_eq!(Patterns::parse(text).match_name(namespace), expected, "{text} {namespace}");
        }
    }

    #[test]
    fn an_entry_without_a_meaning_is_reported_and_the_others_count() {
        let patterns = Patterns::parse("team-(, shop, a)|(b");

        assert!(patterns.match_name("shop"));
        assert_eq!(patterns.problems.len(), 2);
        assert!(patterns.problems[0].starts_with("`team-(` is neither"), "{:?}", patterns.problems);
        assert!(!patterns.match_name("a"));
    }
}
