//! Strings, a block of bytes at a time.

use super::{NotJson, Scanner, block};

// === impl Scanner ===

impl Scanner<'_> {
    /// Goes on from behind an opening quote to behind the closing one; true where no escape was met.
    pub(super) fn rest_of_string(&mut self) -> Result<bool, NotJson> {
        let mut plain = true;
        loop {
            self.skip_ordinary();
            let special = self.text.as_bytes().get(self.at).copied();
            self.at += 1;
            match special {
                Some(b'"') => return Ok(plain),
                Some(b'\\') => {
                    plain = false;
                    self.escape()?;
                }
                // A control character, or the end of the text.
                _ => return Err(NotJson),
            }
        }
    }

    /// Moves to the next quote, backslash or control character.
    #[inline]
    fn skip_ordinary(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(block) = bytes.get(self.at..).and_then(|rest| rest.first_chunk()) {
            let found = block::special(block);
            if found != 0 {
                self.at += found.trailing_zeros() as usize;
                return;
            }
            self.at += block.len();
        }
        while let Some(&byte) = bytes.get(self.at) {
            if matches!(byte, b'"' | b'\\' | 0..0x20) {
                return;
            }
            self.at += 1;
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<(), NotJson> {
        let bytes = self.text.as_bytes();
        let escaped = bytes.get(self.at).ok_or(NotJson)?;
        self.at += 1;
        match escaped {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                let digits = bytes.get(self.at..self.at + 4).ok_or(NotJson)?;
                self.at += 4;
                if digits.iter().all(u8::is_ascii_hexdigit) { Ok(()) } else { Err(NotJson) }
            }
            _ => Err(NotJson),
        }
    }
}
