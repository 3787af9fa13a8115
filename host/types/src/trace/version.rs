//! Resource versions in steps.

use std::fmt;

use serde::{Serialize, Serializer};

/// The most digits that a 64-bit number has. In practice no version of Kubernetes exceeds this length.
const MAX_VERSION_BYTES: usize = 20;

/// A resource version, verbatim up to 20 bytes; a longer one is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version {
    length: u8,
    bytes: [u8; MAX_VERSION_BYTES],
}

// === impl Version ===

impl Version {
    /// The text.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        // The text was cut between two characters.
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl From<&str> for Version {
    fn from(text: &str) -> Self {
        let text = &text.as_bytes().get(..text.floor_char_boundary(MAX_VERSION_BYTES)).unwrap_or_default();
        let mut bytes = [0; MAX_VERSION_BYTES];
        bytes.iter_mut().zip(*text).for_each(|(to, from)| *to = *from);
        // The length is at most 20.
        Self { length: text.len() as u8, bytes }
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_kept_verbatim_and_a_very_long_one_is_cut_between_characters() {
        for (text, kept) in [
            ("", ""),
            ("007", "007"),
            ("18446744073709551615", "18446744073709551615"),
            ("a-version-of-some-other-server", "a-version-of-some-ot"),
            ("nineteen-characters\u{e9}", "nineteen-characters"),
        ] {
            assert_eq!(Version::from(text).as_str(), kept);
        }
    }
}
