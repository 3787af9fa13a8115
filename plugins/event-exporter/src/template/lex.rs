//! The text of a template as pieces: plain text, and the tokens of each action.

use serde_json::{Number, Value};

use super::error::TemplateError;

/// A part of a template.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    /// The content of `{{ .. }}`. A comment has no tokens.
    Action(Vec<Token>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// `.` alone.
    Dot,
    /// `.Name`; `joined` if it follows the token before it without a space.
    Field {
        name: String,
        joined: bool,
    },
    /// `$` or `$name`, without the `$`.
    Variable(String),
    Word(String),
    Literal(Value),
    Pipe,
    Open,
    Close,
    /// `:=`
    Declare,
    /// `=`
    Assign,
    Comma,
}

const LEFT: &str = "{{";
const RIGHT: &str = "}}";

/// Splits a template. `{{-` and `-}}` trim the white space of the text beside them.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut trim = false;
    while let Some((before, after)) = rest.split_once(LEFT) {
        let (after, trim_left) = match after.strip_prefix('-') {
            Some(inner) if inner.starts_with(char::is_whitespace) => (inner, true),
            _ => (after, false),
        };
        push_text(&mut found, before, trim, trim_left);
        let end = end_of_action(after)
            .ok_or_else(|| TemplateError::new(format!("`{{{{{}` has no `}}}}`", start_of(after))))?;
        let (action, after) = (after.get(..end).unwrap_or_default(), after.get(end..).unwrap_or_default());
        let (action, trim_right) = match action.strip_suffix('-') {
            Some(inner) if inner.ends_with(char::is_whitespace) => (inner, true),
            _ => (action, false),
        };
        found.push(Piece::Action(tokens(action)?));
        trim = trim_right;
        rest = after.strip_prefix(RIGHT).unwrap_or_default();
    }
    push_text(&mut found, rest, trim, false);
    Ok(found)
}

fn push_text(found: &mut Vec<Piece>, text: &str, trim_start: bool, trim_end: bool) {
    let text = if trim_start { text.trim_start() } else { text };
    let text = if trim_end { text.trim_end() } else { text };
    if !text.is_empty() {
        found.push(Piece::Text(text.to_owned()));
    }
}

/// The first characters of an action, for messages.
fn start_of(action: &str) -> String {
    action.chars().take(20).collect()
}

/// The position of the `}}` that ends an action: one that is neither in a text nor in a comment.
fn end_of_action(text: &str) -> Option<usize> {
    if text.trim_start().starts_with("/*") {
        let comment = text.find("*/")?;
        return text.get(comment..)?.find(RIGHT).map(|at| comment + at);
    }
    let mut quote = None;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '"' || character == '`' => quote = Some(character),
            None if text.get(at..)?.starts_with(RIGHT) => return Some(at),
            None => {}
        }
    }
    None
}

/// The tokens of an action. A comment has none.
fn tokens(action: &str) -> Result<Vec<Token>, TemplateError> {
    let mut found = Vec::new();
    let mut rest = action.trim();
    if rest.starts_with("/*") {
        return Ok(found);
    }
    let mut joined = false;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = rest.trim_start();
            joined = false;
            continue;
        }
        let (token, after) = token(rest, first, joined)?;
        found.push(token);
        rest = after;
        joined = true;
    }
    Ok(found)
}

fn token(rest: &str, first: char, joined: bool) -> Result<(Token, &str), TemplateError> {
    let after = rest.get(first.len_utf8()..).unwrap_or_default();
    Ok(match first {
        '|' => (Token::Pipe, after),
        '(' => (Token::Open, after),
        ')' => (Token::Close, after),
        ',' => (Token::Comma, after),
        '=' => (Token::Assign, after),
        ':' if after.starts_with('=') => (Token::Declare, after.get(1..).unwrap_or_default()),
        '"' | '`' => text(rest, first)?,
        '.' => match word(after) {
            ("", after) => (Token::Dot, after),
            (name, after) => (Token::Field { name: name.to_owned(), joined }, after),
        },
        '$' => {
            let (name, after) = word(after);
            (Token::Variable(name.to_owned()), after)
        }
        '-' | '+' | '0'..='9' => number(rest)?,
        _ => match word(rest) {
            ("", _) => {
                return Err(TemplateError::new(format!("`{first}` is not expected in `{}`", start_of(rest))));
            }
            ("true", after) => (Token::Literal(Value::Bool(true)), after),
            ("false", after) => (Token::Literal(Value::Bool(false)), after),
            ("nil", after) => (Token::Literal(Value::Null), after),
            (name, after) => (Token::Word(name.to_owned()), after),
        },
    })
}

/// The letters, digits and `_` at the start, and what follows.
fn word(text: &str) -> (&str, &str) {
    let end =
        text.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn number(text: &str) -> Result<(Token, &str), TemplateError> {
    let end = text
        .char_indices()
        .find(|(at, character)| {
            let sign = *at == 0 && matches!(character, '-' | '+');
            !(sign || character.is_ascii_digit() || *character == '.')
        })
        .map_or(text.len(), |(at, _)| at);
    let (digits, after) = text.split_at_checked(end).unwrap_or((text, ""));
    let digits = digits.trim_start_matches('+');
    let value = match digits.parse::<i64>() {
        Ok(whole) => Some(Number::from(whole)),
        Err(_) => digits.parse::<f64>().ok().and_then(Number::from_f64),
    };
    let value = value.ok_or_else(|| TemplateError::new(format!("`{digits}` is not a number")))?;
    Ok((Token::Literal(Value::Number(value)), after))
}

/// A text in quotes. Between backquotes nothing is escaped.
fn text(rest: &str, quote: char) -> Result<(Token, &str), TemplateError> {
    let mut read = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        if character == quote {
            let after = rest.get(at + quote.len_utf8()..).unwrap_or_default();
            return Ok((Token::Literal(Value::String(read)), after));
        }
        if quote != '"' || character != '\\' {
            read.push(character);
            continue;
        }
        read.push(match characters.next() {
            Some((_, 'n')) => '\n',
            Some((_, 't')) => '\t',
            Some((_, 'r')) => '\r',
            Some((_, same @ ('"' | '\\' | '\''))) => same,
            Some((_, other)) => {
                return Err(TemplateError::new(format!("`\\{other}` is not an escape of a text")));
            }
            None => break,
        });
    }
    Err(TemplateError::new(format!("the text `{}` has no end", start_of(rest))))
}
