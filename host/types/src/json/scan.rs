//! Scans a JSON text without building anything.
//!
//! [`Scanner::value`] accepts exactly what serde_json's `IgnoredAny` accepts; the tests compare the two. It takes the
//! same time. The purpose of this module is [`Scanner::skip`], which is several times faster on a text that was checked
//! before: repeated passes over texts were a third of the cost of an event.

mod block;
mod depth;

use std::{borrow::Cow, ops::Range};

use depth::Brackets;

/// A position in a text.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// The text is not JSON. A parser reports the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson;

/// A string as it is written in the text, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawString<'a> {
    /// The text between the quotes, including escapes.
    pub text: &'a str,
    /// True if there is no escape, so that `text` is the string.
    pub plain: bool,
}

/// What follows in an array or an object.
enum More {
    Item,
    End,
}

// === impl RawString ===

impl<'a> RawString<'a> {
    /// The string with its escapes resolved. If an escape is invalid, the text as it is.
    pub fn unescaped(self) -> Cow<'a, str> {
        if self.plain {
            return Cow::Borrowed(self.text);
        }
        let unescaped = serde_json::from_str(&format!("\"{}\"", self.text));
        Cow::Owned(unescaped.unwrap_or_else(|_| self.text.to_owned()))
    }
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Skips white space and returns the next byte, or `None` at the end of the text.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes().get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// The number of bytes before the current position.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Checks that only white space is left.
    ///
    /// # Errors
    /// [`NotJson`] if there is more.
    pub fn end(&mut self) -> Result<(), NotJson> {
        self.peek().map_or(Ok(()), |_| Err(NotJson))
    }

    /// Reads and checks one value of any kind. Returns its range.
    ///
    /// # Errors
    /// [`NotJson`] if there is no valid value.
    pub fn value(&mut self) -> Result<Range<usize>, NotJson> {
        self.peek();
        let start = self.at;
        // Without recursion, because a hostile text may be nested to any depth.
        let mut open = Brackets::default();
        'values: loop {
            match self.peek().ok_or(NotJson)? {
                bracket @ (b'{' | b'[') => {
                    self.at += 1;
                    open.push(bracket == b'{');
                    // In ASCII, the closing bracket is the second character after the opening one.
                    if self.peek() != Some(bracket + 2) {
                        self.key(bracket == b'{')?;
                        continue 'values;
                    }
                }
                first => self.scalar(first)?,
            }
            while let Some(in_object) = open.innermost() {
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.key(in_object)?;
                        continue 'values;
                    }
                    Some(b'}') if in_object => {}
                    Some(b']') if !in_object => {}
                    _ => return Err(NotJson),
                }
                self.at += 1;
                open.pop();
            }
            return Ok(start..self.at);
        }
    }

    /// Skips one value, several times faster than [`value`](Self::value), in a text that is known to be JSON. It
    /// reads only the brackets and quotes of an array or object.
    ///
    /// # Errors
    /// [`NotJson`] if no value starts here or the value does not end. Other errors in the text are not noticed.
    pub fn skip(&mut self) -> Result<Range<usize>, NotJson> {
        let first = self.peek().ok_or(NotJson)?;
        let start = self.at;
        match first {
            b'{' | b'[' => self.at = block::container_end(self.bytes(), self.at).ok_or(NotJson)?,
            first => self.scalar(first)?,
        }
        Ok(start..self.at)
    }

    /// Reads one string.
    ///
    /// # Errors
    /// [`NotJson`] if there is no valid string.
    pub fn string(&mut self) -> Result<RawString<'a>, NotJson> {
        self.expect(b'"')?;
        let start = self.at;
        let plain = self.rest_of_string()?;
        let text = self.text.get(start..self.at - 1).ok_or(NotJson)?;
        Ok(RawString { text, plain })
    }

    /// Reads one object. `member` is called after the colon of each key and must read the value.
    ///
    /// # Errors
    /// [`NotJson`] if there is no valid object, and the errors of `member`.
    pub fn object<E: From<NotJson>>(
        &mut self,
        mut member: impl FnMut(&mut Self, RawString<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'{')?;
        let mut first = true;
        while let More::Item = self.more(b'}', std::mem::take(&mut first))? {
            let key = self.string()?;
            self.expect(b':')?;
            member(self, key)?;
        }
        Ok(())
    }

    /// Reads one array. `element` is called before each element and must read it.
    ///
    /// # Errors
    /// [`NotJson`] if there is no valid array, and the errors of `element`.
    pub fn array<E: From<NotJson>>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'[')?;
        let mut first = true;
        while let More::Item = self.more(b']', std::mem::take(&mut first))? {
            element(self)?;
        }
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.peek() != Some(byte) {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    /// Reads the comma before an item that is not the `first`, or `close`.
    fn more(&mut self, close: u8, first: bool) -> Result<More, NotJson> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(More::End)
            }
            Some(b',') if !first => {
                self.at += 1;
                // A comma must be followed by an item.
                if self.peek() == Some(close) { Err(NotJson) } else { Ok(More::Item) }
            }
            Some(_) if first => Ok(More::Item),
            _ => Err(NotJson),
        }
    }

    /// Reads the key of an item, if the item is in an object.
    fn key(&mut self, in_object: bool) -> Result<(), NotJson> {
        if in_object {
            self.expect(b'"')?;
            self.rest_of_string()?;
            self.expect(b':')?;
        }
        Ok(())
    }

    fn scalar(&mut self, first: u8) -> Result<(), NotJson> {
        match first {
            b'"' => {
                self.at += 1;
                self.rest_of_string().map(|_| ())
            }
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => {
                self.at = number_end(self.bytes(), self.at).ok_or(NotJson)?;
                Ok(())
            }
        }
    }

    /// Reads a string from after its opening quote. Returns true if it has no escape.
    fn rest_of_string(&mut self) -> Result<bool, NotJson> {
        let (end, plain) = string_end(self.bytes(), self.at).ok_or(NotJson)?;
        self.at = end;
        Ok(plain)
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn word(&mut self, word: &str) -> Result<(), NotJson> {
        let rest = self.bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(NotJson);
        }
        self.at += word.len();
        Ok(())
    }
}

/// The length of the array or object at the start of `bytes`, by its brackets and quotes: nothing is checked. Returns `None` if
/// none starts there, or if it does not end.
pub fn container_length(bytes: &[u8]) -> Option<usize> {
    matches!(bytes.first(), Some(b'{' | b'[')).then(|| block::container_end(bytes, 0))?
}

/// Reads a string from after its opening quote. Returns the offset after the closing quote, and true if the string has
/// no escape; `None` if the string is invalid.
fn string_end(bytes: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut plain = true;
    loop {
        at = next_special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Some((at + 1, plain)),
            Some(b'\\') => {
                plain = false;
                at = escape(bytes, at + 1)?;
            }
            // A control character, or the end of the text.
            _ => return None,
        }
    }
}

/// The offset of the next quote, backslash or control character.
#[inline]
fn next_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let found = block::special(block);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += block.len();
    }
    while let Some(&byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..0x20) {
            return at;
        }
        at += 1;
    }
    at
}

/// The offset after the escape whose backslash is before `at`.
fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = bytes.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

/// The offset after the number that starts at `at`. Returns `None` if there is no valid number.
fn number_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = skip(bytes, at, b"-");
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(bytes, at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at = digits(bytes, skip(bytes, at + 1, b"+-"))?;
    }
    Some(at)
}

/// The offset after the byte at `at`, if it is one of these.
fn skip(bytes: &[u8], at: usize, any_of: &[u8]) -> usize {
    at + usize::from(bytes.get(at).is_some_and(|byte| any_of.contains(byte)))
}

/// The offset after one or more digits.
fn digits(bytes: &[u8], at: usize) -> Option<usize> {
    let count = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(at + count)
}

#[cfg(test)]
mod tests;
