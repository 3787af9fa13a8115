//! The forms of digests.

use std::fmt::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::{NotJson, Scanner};

/// How the digest of a value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DigestForm {
    /// The SHA-256 of the JSON text.
    Sha256,
    /// The SHA-1 of the members of an object as sorted `key=value`, joined by `;`. A member that is no string counts with its JSON text,
    /// and a value that is no object has no members.
    ///
    /// stakater/Reloader writes it into the workloads that it restarts, for the `data` of a ConfigMap. Some different objects have the
    /// same pairs, such as `{"a":"1;b=2"}` and `{"a":"1","b":"2"}`.
    Sha1Pairs,
    /// The same, after the values are decoded from base64. One that is not base64 counts as it is.
    ///
    /// stakater/Reloader writes it into the workloads that it restarts, for the `data` of a Secret.
    Sha1Base64Pairs,
}

// === impl DigestForm ===

impl DigestForm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sha256, Self::Sha1Pairs, Self::Sha1Base64Pairs];

    /// What is written before the pointer of the value.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256:",
            Self::Sha1Pairs => "sha1-pairs:",
            Self::Sha1Base64Pairs => "sha1-base64-pairs:",
        }
    }

    /// The number of hexadecimal digits.
    pub(super) fn digits(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha1Pairs | Self::Sha1Base64Pairs => 40,
        }
    }

    /// The digest of a JSON text in hexadecimal digits.
    pub(super) fn hash(self, value: &str) -> String {
        match self {
            Self::Sha256 => hexadecimal(&Sha256::digest(value)),
            Self::Sha1Pairs => hexadecimal(&Sha1::digest(pairs(value, |text| text.as_bytes().to_vec()))),
            Self::Sha1Base64Pairs => hexadecimal(&Sha1::digest(pairs(value, |text| {
                BASE64_STANDARD.decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())
            }))),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        // Writing to a String does not fail.
        write!(digits, "{byte:02x}").ok();
        digits
    })
}

/// The members of an object as sorted `key=value`, joined by `;`.
fn pairs(value: &str, content: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
    let (mut pairs, mut scanner) = (Vec::new(), Scanner::new(value));
    if scanner.peek() == Some(b'{') {
        // The members before a mistake count. The text of a cached object was read when it arrived, and has no mistake.
        let _ = scanner.object(|scanner, key| {
            let content = if scanner.peek() == Some(b'"') {
                content(&scanner.string()?.unescaped())
            } else {
                value.get(scanner.skip()?).unwrap_or_default().as_bytes().to_vec()
            };
            pairs.push([key.unescaped().as_bytes(), b"=", &content].concat());
            Ok::<(), NotJson>(())
        });
    }
    pairs.sort_unstable();
    pairs.join(&b';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pairs_of_an_object_are_sorted() {
        // `printf 'a=1;b=2' | sha1sum`, and so on.
        for (value, expected) in [
            (r#"{"b":"2","a":"1"}"#, "f83e99e324ba68ccc373a58ef1eb42f8ab88646a"),
            (r#"{ "b" : "2" , "\u0061" : "\u0031" }"#, "f83e99e324ba68ccc373a58ef1eb42f8ab88646a"),
            (r#"{"a":"1"}"#, "86eda770a6060824b090dd4df091e3bd4121279c"),
            (r#"{"a":1}"#, "86eda770a6060824b090dd4df091e3bd4121279c"),
            ("{}", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("null", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            (r#""a=1""#, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ] {
            assert_eq!(DigestForm::Sha1Pairs.hash(value), expected, "{value}");
        }
    }

    #[test]
    fn the_values_of_pairs_are_decoded_if_they_are_base64() {
        for (value, plain) in [
            (r#"{"a":"MQ=="}"#, r#"{"a":"1"}"#),
            (r#"{"a":"***","b":""}"#, r#"{"a":"***","b":""}"#),
            (r#"{"a":"MQ="}"#, r#"{"a":"MQ="}"#),
            (r#"{"a":null}"#, r#"{"a":null}"#),
        ] {
            assert_eq!(DigestForm::Sha1Base64Pairs.hash(value), DigestForm::Sha1Pairs.hash(plain), "{value}");
        }
    }
}
