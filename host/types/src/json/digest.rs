//! SHA-256 digests that stand for values.

use std::{collections::BTreeMap, fmt::Write, ops::Range};

use sha2::{Digest, Sha256};

/// A digest in place of a value, as JSON text: `{"sha256:":"<64 hexadecimal digits>"}`.
const STAND_IN: (&str, &str) = ("{\"sha256:\":\"", "\"}");

/// The hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// The bytes that the digests of one text may cover, whatever its size: 256 values of 4 KiB.
const COVERED: usize = 1 << 20;

/// The digests of values in one text. Each value is hashed once.
pub(super) struct Digests {
    by_range: BTreeMap<(usize, usize), String>,
    /// The bytes that were hashed.
    #[cfg(test)]
    hashed: usize,
}

/// The values whose digests are wanted contain one another, and have too many bytes together.
#[derive(Debug, thiserror::Error)]
#[error(
    "the digests of one call cover {bytes} bytes of the object, because their values contain one another; at most {limit}"
)]
pub struct TooMuchToHash {
    bytes: usize,
    limit: usize,
}

// === impl Digests ===

impl Digests {
    /// The digests of the values at these ranges.
    ///
    /// # Errors
    /// [`TooMuchToHash`] if the values have more than twice the bytes of the text together, and more than [`COVERED`]. Values that
    /// do not contain one another never have.
    pub(super) fn new(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> Result<Self, TooMuchToHash> {
        let mut by_range: BTreeMap<_, _> =
            ranges.map(|range| ((range.start, range.end), String::new())).collect();
        let bytes = by_range.keys().map(|(start, end)| end - start).sum();
        let limit = COVERED.max(text.len().saturating_mul(2));
        if bytes > limit {
            return Err(TooMuchToHash { bytes, limit });
        }
        for ((start, end), known) in &mut by_range {
            *known = digest(text.get(*start..*end).unwrap_or_default());
        }
        Ok(Self {
            by_range,
            #[cfg(test)]
            hashed: bytes,
        })
    }

    /// The digest of the value at this range, in hexadecimal digits.
    pub(super) fn get(&self, range: &Range<usize>) -> Option<&str> {
        self.by_range.get(&(range.start, range.end)).map(String::as_str)
    }
}

/// Returns true if two values have different digests. Nothing is hashed, unless a digest stands for one of the two values.
pub(super) fn digests_differ(left: &str, right: &str) -> bool {
    let one_stands = kept_digest(left).is_some() || kept_digest(right).is_some();
    left != right && !(one_stands && digest(left) == digest(right))
}

/// The digest of a JSON text in hexadecimal digits. The text that stands for a value has the digest of that value.
fn digest(value: &str) -> String {
    if let Some(kept) = kept_digest(value) {
        return kept.to_owned();
    }
    let mut digits = String::with_capacity(DIGITS);
    for byte in Sha256::digest(value) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// The digest that this text stands for.
fn kept_digest(value: &str) -> Option<&str> {
    let digits = value.strip_prefix(STAND_IN.0)?.strip_suffix(STAND_IN.1)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digits.len() == DIGITS && digits.bytes().all(is_digit)).then_some(digits)
}

/// The JSON text that stands for a value of which only the digest is kept. It has the digest of the value.
pub fn stand_in(value: &str) -> String {
    format!("{}{}{}", STAND_IN.0, digest(value), STAND_IN.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Part, PartsError, Pointer, locate};

    #[test]
    fn what_only_looks_like_a_digest_is_a_value() {
        for value in [r#"{"sha256:":"12"}"#, "\"sha256:\"", r#"{"sha256:":"G"}"#] {
            assert_eq!(kept_digest(value), None, "{value}");
        }
        let upper = stand_in("1").to_uppercase().replace("SHA256", "sha256");
        assert_eq!(kept_digest(&upper), None);
    }

    fn digests(text: &str, pointers: &[String]) -> Result<Digests, TooMuchToHash> {
        let pointers: Vec<Pointer> = pointers.iter().map(|pointer| pointer.parse().unwrap()).collect();
        Digests::new(text, locate(text, &pointers).unwrap().into_iter().flatten())
    }

    /// A guest may request 256 digests of an object of a megabyte: the time must not be the product of both.
    #[test]
    fn each_value_is_hashed_once_however_many_digests_are_wanted() {
        let long = "x".repeat(2 << 20);
        let text = format!("{{\"a\":\"{long}\",\"b\":[1,{{\"c\":2}}]}}");
        let pointers: Vec<String> =
            (0..256).map(|n| ["", "/a", "/b", "/b/0", "/none"][n % 5].to_owned()).collect();

        let digests = digests(&text, &pointers).unwrap();

        let once = text.len() + (long.len() + 2) + r#"[1,{"c":2}]"#.len() + 1;
        assert_eq!((digests.hashed, digests.by_range.len()), (once, 4));
        assert_eq!(digests.get(&(0..text.len())), Some(digest(&text).as_str()));
    }

    #[test]
    fn values_that_contain_one_another_are_not_hashed_beyond_the_limit() {
        let nested = |levels: usize, long: usize| {
            let (open, close) = ("{\"a\":".repeat(levels), "}".repeat(levels));
            let pointers: Vec<String> = (0..levels).map(|level| "/a".repeat(level)).collect();
            (format!("{open}\"{}\"{close}", "x".repeat(long)), pointers)
        };
        let (small, pointers) = nested(256, 1 << 10);
        assert_eq!(digests(&small, &pointers).unwrap().by_range.len(), 256);
        let (large, pointers) = nested(2, 1 << 20);
        assert!(digests(&large, &pointers).is_ok(), "the object and a field of it");

        let (large, pointers) = nested(256, 1 << 20);
        let parts: Vec<Part> = pointers.iter().map(|it| format!("sha256:{it}").parse().unwrap()).collect();

        let Err(PartsError::TooMuchToHash(error)) = Part::texts(&parts, &large) else {
            panic!("it is hashed")
        };

        assert_eq!(error.limit, 2 * large.len());
        assert_eq!(
            error.to_string(),
            format!(
                "the digests of one call cover {} bytes of the object, because their values contain one another; at most {}",
                error.bytes, error.limit
            )
        );
        assert!(error.bytes > 256 << 20, "{error}");
    }

    #[test]
    fn a_value_differs_from_another_one_and_not_from_its_digest() {
        let (one, other) = ("[1]", "[2]");
        for (left, right, differ) in [
            (one.to_owned(), one.to_owned(), false),
            (one.to_owned(), other.to_owned(), true),
            (stand_in(one), one.to_owned(), false),
            (one.to_owned(), stand_in(other), true),
            (stand_in(one), stand_in(one), false),
            (stand_in(one), stand_in(other), true),
        ] {
            assert_eq!(digests_differ(&left, &right), differ, "{left} {right}");
        }
    }
}
