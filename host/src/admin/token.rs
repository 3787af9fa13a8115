//! The token that the page must send with a request that changes the host.

use std::fmt::Write;

use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;

/// The bytes of a token before they are written in hexadecimal digits.
const BYTES: usize = 32;

/// A random text of this process. Only a page of the same origin can read it.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub(super) struct Token {
    token: String,
}

// === impl Token ===

impl Token {
    /// A new token; `None` if the system has no random numbers. Then the page can change nothing.
    pub(super) fn new() -> Option<Self> {
        let mut bytes = [0; BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let digits = bytes.iter().fold(String::new(), |mut digits, byte| {
            // Writing to a text does not fail.
            write!(digits, "{byte:02x}").ok();
            digits
        });
        Some(Self { token: digits })
    }

    /// Compares in a time that does not depend on the place of the first difference.
    pub(super) fn is(&self, sent: &[u8]) -> bool {
        let own = self.token.as_bytes();
        own.len() == sent.len()
            && own.iter().zip(sent).fold(0, |found, (own, sent)| found | (own ^ sent)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_another_token_and_accepts_no_other() {
        let [one, other] = [Token::new().unwrap(), Token::new().unwrap()];

        assert_eq!(one.token.len(), 2 * BYTES);
        assert!(one.is(one.token.as_bytes()));
        for wrong in [other.token.as_bytes(), b"", &one.token.as_bytes()[1..]] {
            assert!(!one.is(wrong));
        }
    }
}
