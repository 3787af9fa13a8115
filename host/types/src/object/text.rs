//! Stores many short strings in one allocation. Each string follows its length, which is written as three characters of
//! seven bits, so that the whole is a valid string and is sliced without unsafe code.

const PREFIX: usize = 3;

/// A string of the header, or the number of labels, exceeds the limits of the compact header. The API server's own
/// limits are a thousand times lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a string in the object's metadata is longer than 2 MiB, or it has more than 65,535 labels")]
pub struct ObjectTooLarge;

/// Writes what [`Fields`] reads.
pub(super) struct TextWriter(String);

impl TextWriter {
    pub(super) fn with_capacity(len: usize) -> Self {
        Self(String::with_capacity(len))
    }

    /// The number of bytes that a value takes.
    pub(super) fn len_of(value: &str) -> usize {
        PREFIX + value.len()
    }

    pub(super) fn push(&mut self, value: &str) -> Result<(), ObjectTooLarge> {
        let len = value.len();
        if len >= 1 << 21 {
            return Err(ObjectTooLarge);
        }
        for shift in [14, 7, 0] {
            // Seven bits are always an ASCII character.
            self.0.push(char::from(((len >> shift) & 0x7f) as u8));
        }
        self.0.push_str(value);
        Ok(())
    }

    pub(super) fn finish(self) -> Box<str> {
        self.0.into_boxed_str()
    }
}

/// Iterates over the strings in the order in which they were pushed.
pub(super) struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(text)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (prefix, rest) = self.0.split_at_checked(PREFIX)?;
        let len = prefix.bytes().fold(0, |len, byte| len << 7 | usize::from(byte));
        let (value, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(value)
    }
}
