//! The name of content: its SHA-256.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

/// The only algorithm that is accepted. Every registry has it.
const ALGORITHM: &str = "sha256:";

const BYTES: usize = 32;

/// The SHA-256 of some bytes, written `sha256:` and 64 digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; BYTES]);

/// A text that is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a digest; write sha256: and 64 hexadecimal digits in lower case",
    informer_types::excerpt(_0, 128)
)]
pub struct InvalidDigest(String);

/// Computes a [`Digest`] piece by piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hasher(Sha256);

// === impl Digest ===

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The 64 digits without the algorithm.
    pub fn hex(&self) -> String {
        self.0.iter().fold(String::with_capacity(2 * BYTES), |mut text, byte| {
            // Writing to a string does not fail.
            let _ = fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
            text
        })
    }

    /// The 32 bytes.
    pub(crate) fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let invalid = || InvalidDigest(text.to_owned());
        let digits = text.strip_prefix(ALGORITHM).ok_or_else(invalid)?.as_bytes();
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = digits
            .chunks(2)
            .map(|pair| match *pair {
                [high, low] => Some(value(high)? << 4 | value(low)?),
                _ => None,
            })
            .collect();
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or_else(invalid)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALGORITHM}{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// === impl Hasher ===

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_and_nothing_else_is_one() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(empty.parse(), Ok(Digest::of(b"")));
        let upper = empty.to_uppercase();
        for text in [
            "",
            "sha256:",
            "sha512:00",
            &empty[..70],
            &format!("{empty}0"),
            &format!("{empty}00"),
            &upper,
            "latest",
        ] {
            let error = text.parse::<Digest>().unwrap_err();
            assert!(error.to_string().contains("64 hexadecimal digits"), "{error}");
        }
    }
}
