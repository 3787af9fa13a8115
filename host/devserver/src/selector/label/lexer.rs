//! Splits a label selector into tokens.

use std::fmt;

/// A token of a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
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
pub(super) struct Lexer<'a> {
    rest: &'a str,
}

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

// === impl Lexer ===

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn peek(self) -> Token<'a> {
        let mut ahead = self;
        ahead.next()
    }

    pub(super) fn next(&mut self) -> Token<'a> {
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
