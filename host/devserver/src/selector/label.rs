//! Label selectors: `app=web,tier in (a,b),!legacy`.

use std::fmt;

use super::InvalidSelector;

/// All symbols. A symbol comes before its own prefixes.
const SYMBOLS: &[(&str, Token<'static>)] = &[
    ("!=", Token::NotEqual),
    ("==", Token::Equal),
    ("=", Token::Equal),
    ("!", Token::Not),
    (",", Token::Comma),
    ("(", Token::Open),
    (")", Token::Close),
    (">", Token::Above),
    ("<", Token::Below),
];

/// A conjunction of requirements on labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    Exists,
    Missing,
    In(Vec<String>),
    /// Also matches objects without the label.
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

/// A token of a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Comma,
    Open,
    Close,
    Not,
    Equal,
    NotEqual,
    Above,
    Below,
    End,
}

/// The remaining text of a selector.
#[derive(Clone, Copy)]
struct Parser<'a> {
    rest: &'a str,
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Parses a selector in the form of `kubectl -l`: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (v,w)`, `k notin (v,w)`,
    /// `k>1`, `k<1`, separated by commas.
    ///
    /// # Errors
    /// [`InvalidSelector`] with the found token and the expected one.
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidSelector> {
        let mut parser = Parser { rest: text };
        let mut requirements = Vec::new();
        if parser.peek() == Token::End {
            return Ok(Self { requirements });
        }
        loop {
            requirements.push(parser.requirement()?);
            match parser.next() {
                Token::End => return Ok(Self { requirements }),
                Token::Comma => {}
                found => return Err(unexpected(&found, "',' or the end")),
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    pub(crate) fn matches<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|one| one.operator.accepts(value_of(&one.key)))
    }
}

// === impl Operator ===

impl Operator {
    fn accepts(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::In(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
            Self::NotIn(values) => value.is_none_or(|value| values.iter().all(|one| one != value)),
            Self::Above(bound) => number().is_some_and(|value| value > *bound),
            Self::Below(bound) => number().is_some_and(|value| value < *bound),
        }
    }
}

// === impl Parser ===

impl<'a> Parser<'a> {
    fn peek(self) -> Token<'a> {
        let mut ahead = self;
        ahead.next()
    }

    fn next(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() {
            return Token::End;
        }
        for (symbol, token) in SYMBOLS {
            if let Some(rest) = self.rest.strip_prefix(symbol) {
                self.rest = rest;
                return *token;
            }
        }
        let is_end = |c: char| c.is_whitespace() || "=!,()><".contains(c);
        let (word, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        self.rest = rest;
        Token::Word(word)
    }

    fn requirement(&mut self) -> Result<Requirement, InvalidSelector> {
        if self.peek() == Token::Not {
            self.next();
            let key = self.key()?;
            return Ok(Requirement { key, operator: Operator::Missing });
        }
        let key = self.key()?;
        let operator = match self.peek() {
            Token::Comma | Token::End => Operator::Exists,
            Token::Equal => Operator::In(vec![self.operand()?]),
            Token::NotEqual => Operator::NotIn(vec![self.operand()?]),
            Token::Above => Operator::Above(self.number()?),
            Token::Below => Operator::Below(self.number()?),
            Token::Word("in") => Operator::In(self.set()?),
            Token::Word("notin") => Operator::NotIn(self.set()?),
            found => return Err(unexpected(&found, "an operator")),
        };
        Ok(Requirement { key, operator })
    }

    fn key(&mut self) -> Result<String, InvalidSelector> {
        match self.next() {
            Token::Word(key) if is_label_key(key) => Ok(key.to_owned()),
            Token::Word(key) => Err(InvalidSelector(format!("'{key}' is not a label key"))),
            found => Err(unexpected(&found, "a label key")),
        }
    }

    /// The operator and the value after it, which may be empty.
    fn operand(&mut self) -> Result<String, InvalidSelector> {
        self.next();
        match self.peek() {
            Token::Comma | Token::End => Ok(String::new()),
            _ => self.value(),
        }
    }

    fn value(&mut self) -> Result<String, InvalidSelector> {
        match self.next() {
            Token::Word(value) if is_label_value(value) => Ok(value.to_owned()),
            Token::Word(value) => Err(InvalidSelector(format!("'{value}' is not a label value"))),
            found => Err(unexpected(&found, "a label value")),
        }
    }

    fn number(&mut self) -> Result<i64, InvalidSelector> {
        let value = self.operand()?;
        value.parse().map_err(|_| InvalidSelector(format!("'{value}' is not an integer")))
    }

    fn set(&mut self) -> Result<Vec<String>, InvalidSelector> {
        self.next();
        match self.next() {
            Token::Open => {}
            found => return Err(unexpected(&found, "'('")),
        }
        let mut values = Vec::new();
        loop {
            // `(a,)` and `()` contain the empty value, as in client-go.
            let value = match self.peek() {
                Token::Comma | Token::Close => String::new(),
                _ => self.value()?,
            };
            values.push(value);
            match self.next() {
                Token::Comma => {}
                Token::Close => return Ok(values),
                found => return Err(unexpected(&found, "',' or ')'")),
            }
        }
    }
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbol = SYMBOLS.iter().rev().find(|(_, token)| token == self).map(|(symbol, _)| *symbol);
        match (self, symbol) {
            (Self::Word(word), _) => write!(f, "'{word}'"),
            (_, Some(symbol)) => write!(f, "'{symbol}'"),
            (_, None) => f.write_str("the end"),
        }
    }
}

fn unexpected(found: &Token<'_>, expected: &str) -> InvalidSelector {
    InvalidSelector(format!("unable to parse requirement: found {found}, expected: {expected}"))
}

/// Returns true for `[prefix/]name` with a DNS subdomain as prefix and at most 63 characters in the name.
pub(crate) fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => crate::name::is_subdomain(prefix) && is_qualified_name(name),
        None => is_qualified_name(key),
    }
}

fn is_qualified_name(name: &str) -> bool {
    !name.is_empty() && is_label_value(name)
}

/// Returns true for an empty text, and for at most 63 letters, digits, `-`, `_` and `.` with a letter or digit at both
/// ends.
pub(crate) fn is_label_value(value: &str) -> bool {
    let ends = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    value.len() <= 63
        && ends(value.chars().next())
        && ends(value.chars().next_back())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests;
