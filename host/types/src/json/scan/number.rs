//! Numbers.

use super::{NotJson, Scanner};

// === impl Scanner ===

impl Scanner<'_> {
    pub(super) fn number(&mut self) -> Result<(), NotJson> {
        self.take(b"-");
        if !self.take(b"0") {
            self.digits()?;
        }
        if self.take(b".") {
            self.digits()?;
        }
        if self.take(b"eE") {
            self.take(b"+-");
            self.digits()?;
        }
        Ok(())
    }

    /// One byte, if it is one of these.
    fn take(&mut self, of: &[u8]) -> bool {
        let found = self.text.as_bytes().get(self.at).is_some_and(|byte| of.contains(byte));
        self.at += usize::from(found);
        found
    }

    /// One digit at least.
    fn digits(&mut self) -> Result<(), NotJson> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(NotJson) } else { Ok(()) }
    }
}
