//! Scans a JSON text without building anything.
//!
//! [`Scanner::value`] accepts exactly what serde_json's `IgnoredAny` accepts; the tests compare the two. It takes the
//! same time. The purpose of this module is [`Scanner::skip`], which is several times faster on a text that was checked
//! before: repeated passes over texts were a third of the cost of an event.

mod balanced;
mod block;
mod depth;
mod number;
mod string;

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
        let first = self.peek().ok_or(NotJson)?;
        let start = self.at;
        match first {
            b'{' | b'[' => self.container()?,
            first => self.scalar(first)?,
        }
        Ok(start..self.at)
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
            b'{' | b'[' => self.at = balanced::end(self.bytes(), self.at).ok_or(NotJson)?,
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

    /// Reads an array or an object without recursion, because a hostile text may be nested to any depth.
    fn container(&mut self) -> Result<(), NotJson> {
        let mut open = Brackets::default();
        self.open(&mut open)?;
        while let Some(in_object) = open.innermost() {
            // The position is after an item.
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.item(in_object, &mut open)?;
                }
                Some(b'}') if in_object => self.close(&mut open),
                Some(b']') if !in_object => self.close(&mut open),
                _ => return Err(NotJson),
            }
        }
        Ok(())
    }

    /// Reads opening brackets up to the end of the first scalar or empty container.
    fn open(&mut self, open: &mut Brackets) -> Result<(), NotJson> {
        loop {
            let in_object = self.peek() == Some(b'{');
            self.at += 1;
            open.push(in_object);
            match self.peek() {
                Some(b'}') if in_object => {
                    self.close(open);
                    return Ok(());
                }
                Some(b']') if !in_object => {
                    self.close(open);
                    return Ok(());
                }
                _ => {}
            }
            if self.scalar_item(in_object)? {
                return Ok(());
            }
        }
    }

    fn close(&mut self, open: &mut Brackets) {
        self.at += 1;
        open.pop();
    }

    fn item(&mut self, in_object: bool, open: &mut Brackets) -> Result<(), NotJson> {
        if self.scalar_item(in_object)? { Ok(()) } else { self.open(open) }
    }

    /// Reads a key if the container is an object, and a scalar. Returns false if a container follows instead; then only
    /// the key has been read.
    fn scalar_item(&mut self, in_object: bool) -> Result<bool, NotJson> {
        if in_object {
            self.expect(b'"')?;
            self.rest_of_string()?;
            self.expect(b':')?;
        }
        match self.peek().ok_or(NotJson)? {
            b'{' | b'[' => Ok(false),
            first => self.scalar(first).map(|()| true),
        }
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
                self.at = number::end(self.bytes(), self.at).ok_or(NotJson)?;
                Ok(())
            }
        }
    }

    /// Reads a string from after its opening quote. Returns true if it has no escape.
    fn rest_of_string(&mut self) -> Result<bool, NotJson> {
        let (end, plain) = string::end(self.bytes(), self.at).ok_or(NotJson)?;
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

#[cfg(test)]
mod tests;
