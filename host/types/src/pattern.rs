//! Texts with wildcards.

use std::{fmt, str::FromStr};

/// A text in which each `*` stands for any characters, also for none and for `/`. Everything else stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

/// A text that is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern is empty; write `*` for everything")]
pub struct InvalidPattern;

// === impl Pattern ===

impl Pattern {
    /// Makes a pattern from any text. The empty pattern fits only the empty text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the whole text fits. It takes time in proportion to the product of both lengths at most.
    pub fn fits(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some((_, behind)) = rest.split_once(part) else { return false };
            rest = behind;
        }
        rest.ends_with(last)
    }
}

/// In a configuration an empty pattern is a mistake.
impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        if text.trim().is_empty() { Err(InvalidPattern) } else { Ok(Self(text.to_owned())) }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_everything_else_for_itself() {
        for (pattern, fitting, others) in [
            (
                "ghcr.io/acme/*",
                ["ghcr.io/acme/a", "ghcr.io/acme/a/b"],
                ["ghcr.io/acme", "ghcr.io/acme-evil/a"],
            ),
            ("a", ["a", "a"], ["ab", "ba"]),
            ("*", ["", "x/y"], ["", ""]),
            ("a*a", ["aa", "aba"], ["a", "ab"]),
            ("*b*", ["b", "abc"], ["ac", ""]),
            ("a.c", ["a.c", "a.c"], ["abc", "A.C"]),
            ("a*b*b", ["abb", "axbyb"], ["ab", "ba"]),
        ] {
            let own: Pattern = pattern.parse().unwrap();
            for text in fitting {
                assert!(own.fits(text), "{pattern} fits {text}");
            }
            for text in others.iter().filter(|_| pattern != "*") {
                assert!(!own.fits(text), "{pattern} does not fit {text}");
            }
        }
        assert_eq!(" ".parse::<Pattern>(), Err(InvalidPattern));
        assert!(Pattern::new("").fits("") && !Pattern::new("").fits("a"));
    }
}
