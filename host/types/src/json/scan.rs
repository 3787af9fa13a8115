//! Walks over a JSON text and builds nothing.
//!
//! What serde_json's `IgnoredAny` accepts, [`Scanner::value`] accepts, and nothing else; the tests hold the two
//! against each other. It takes as long, too. What this exists for is [`Scanner::skip`]: a text that was checked once is
//! gone over at several times that speed, and passes over texts were a third of what an event cost.

mod balanced;
mod block;
mod depth;
mod number;
mod string;

use std::ops::Range;

use depth::Brackets;

/// A place in a text.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// The text is not JSON. Why, a parser says better: this is for telling apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson;

/// A string as it stands in the text, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawString<'a> {
    /// Escapes and all.
    pub text: &'a str,
    /// No backslash is in it: `text` is the string.
    pub plain: bool,
}

/// What follows in an array or an object.
enum More {
    Item,
    End,
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    /// At the beginning of a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The first byte of what comes next, white space left behind; none at the end of the text.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// How many bytes of the text are behind.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Checks that nothing but white space is left.
    ///
    /// # Errors
    /// [`NotJson`] where there is more.
    pub fn end(&mut self) -> Result<(), NotJson> {
        self.peek().map_or(Ok(()), |_| Err(NotJson))
    }

    /// Goes over one value of any kind; returns where it lies.
    ///
    /// # Errors
    /// [`NotJson`] where there is no valid one.
    pub fn value(&mut self) -> Result<Range<usize>, NotJson> {
        let first = self.peek().ok_or(NotJson)?;
        let start = self.at;
        match first {
            b'{' | b'[' => self.container()?,
            first => self.scalar(first)?,
        }
        Ok(start..self.at)
    }

    /// As [`value`](Self::value), several times as fast, for a text that is known to be JSON: an array or object is
    /// gone over by its brackets and quotes alone.
    ///
    /// # Errors
    /// [`NotJson`] where no value begins, or it does not end. In a text that is not JSON anything else may pass.
    pub fn skip(&mut self) -> Result<Range<usize>, NotJson> {
        let first = self.peek().ok_or(NotJson)?;
        let start = self.at;
        match first {
            b'{' | b'[' => self.balanced()?,
            first => self.scalar(first)?,
        }
        Ok(start..self.at)
    }

    /// Goes over one string.
    ///
    /// # Errors
    /// [`NotJson`] where there is no valid one.
    pub fn string(&mut self) -> Result<RawString<'a>, NotJson> {
        self.expect(b'"')?;
        let start = self.at;
        let plain = self.rest_of_string()?;
        let text = self.text.get(start..self.at - 1).ok_or(NotJson)?;
        Ok(RawString { text, plain })
    }

    /// Goes over one object; `member` is called behind the colon of each key and must go over the value.
    ///
    /// # Errors
    /// [`NotJson`] where there is no valid one, and what `member` returns.
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

    /// Goes over one array; `element` is called before each element and must go over it.
    ///
    /// # Errors
    /// [`NotJson`] where there is no valid one, and what `element` returns.
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

    /// Takes the comma before an item that is not the `first`, or the `close`.
    fn more(&mut self, close: u8, first: bool) -> Result<More, NotJson> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(More::End)
            }
            Some(b',') if !first => {
                self.at += 1;
                // A comma promises an item.
                if self.peek() == Some(close) { Err(NotJson) } else { Ok(More::Item) }
            }
            Some(_) if first => Ok(More::Item),
            _ => Err(NotJson),
        }
    }

    /// An array or an object, without recursion: a hostile text may be as deep as it is long.
    fn container(&mut self) -> Result<(), NotJson> {
        let mut open = Brackets::default();
        self.open(&mut open)?;
        while let Some(in_object) = open.innermost() {
            // Behind an item.
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

    /// Takes an opening bracket and what follows, up to the end of a scalar or of an empty container.
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

    /// A key where there has to be one, and a scalar; false, and only the key taken, where a container follows.
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
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), NotJson> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(NotJson);
        }
        self.at += word.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
