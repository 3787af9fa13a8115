//! Digests that stand for values.

use std::{collections::BTreeMap, ops::Range};

use super::DigestForm;

/// The bytes that the digests of one text may cover, whatever its size: 256 values of 4 KiB.
const COVERED: usize = 1 << 20;

/// The digests of values in one text. Each value is hashed once for each form.
pub(super) struct Digests {
    by_value: BTreeMap<(DigestForm, usize, usize), String>,
    /// The bytes that were hashed.
    #[cfg(test)]
    hashed: usize,
}

/// The values to hash have too many bytes together, because they contain one another or are requested in several forms.
#[derive(Debug, thiserror::Error)]
#[error(
    "the digests of one call cover {bytes} bytes of the object, because their values contain one another or are wanted in several forms; at most {limit}"
)]
pub struct TooMuchToHash {
    bytes: usize,
    limit: usize,
}

// === impl Digests ===

impl Digests {
    /// Computes the digests of the values at these ranges of `text`, each in its form.
    ///
    /// # Errors
    /// [`TooMuchToHash`] if the values have more than twice the bytes of the text together, and more than [`COVERED`]. Values that do
    /// not contain one another, all in one form, never exceed this limit.
    pub(super) fn new(
        text: &str,
        values: impl Iterator<Item = (DigestForm, Range<usize>)>,
    ) -> Result<Self, TooMuchToHash> {
        let mut by_value: BTreeMap<_, _> =
            values.map(|(form, range)| ((form, range.start, range.end), String::new())).collect();
        let bytes = by_value.keys().map(|(_, start, end)| end - start).sum();
        let limit = COVERED.max(text.len().saturating_mul(2));
        if bytes > limit {
            return Err(TooMuchToHash { bytes, limit });
        }
        for ((form, start, end), known) in &mut by_value {
            *known = digest(*form, text.get(*start..*end).unwrap_or_default());
        }
        Ok(Self {
            by_value,
            #[cfg(test)]
            hashed: bytes,
        })
    }

    /// The digest of the value at this range, in hexadecimal digits.
    pub(super) fn get(&self, form: DigestForm, range: &Range<usize>) -> Option<&str> {
        self.by_value.get(&(form, range.start, range.end)).map(String::as_str)
    }
}

/// Returns true if two values have different digests. Nothing is hashed if their texts are the same. Texts that differ have different
/// SHA-256 digests, so they are hashed only if a digest stands for one of them.
pub(super) fn digests_differ(form: DigestForm, left: &str, right: &str) -> bool {
    let one_stands = kept_digest(form, left).is_some() || kept_digest(form, right).is_some();
    let may_be_equal = one_stands || form != DigestForm::Sha256;
    left != right && !(may_be_equal && digest(form, left) == digest(form, right))
}

/// Returns true if one of two texts is a digest that stands for the other one. A cache may keep one state of an object whole and
/// digests of the next state.
pub(super) fn stands_for(left: &str, right: &str) -> bool {
    DigestForm::ALL.into_iter().any(|form| match (kept_digest(form, left), kept_digest(form, right)) {
        (Some(kept), None) => form.hash(right) == kept,
        (None, Some(kept)) => form.hash(left) == kept,
        (Some(_), Some(_)) | (None, None) => false,
    })
}

/// The digest of a JSON text in hexadecimal digits. The text that stands for a value has the digest of that value.
fn digest(form: DigestForm, value: &str) -> String {
    kept_digest(form, value).map_or_else(|| form.hash(value), str::to_owned)
}

/// The digest that this text stands for.
fn kept_digest(form: DigestForm, value: &str) -> Option<&str> {
    let quoted = value.strip_prefix("{\"")?.strip_prefix(form.prefix())?;
    let digits = quoted.strip_prefix("\":\"")?.strip_suffix("\"}")?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digits.len() == form.digits() && digits.bytes().all(is_digit)).then_some(digits)
}

/// The JSON text that stands for a value of which only a digest is kept: `{"sha256:":"<64 hexadecimal digits>"}`. It has the digest of
/// the value.
pub fn stand_in(form: DigestForm, value: &str) -> String {
    format!("{{\"{}\":\"{}\"}}", form.prefix(), digest(form, value))
}

#[cfg(test)]
mod tests {
    use super::{
        DigestForm::{Sha1Base64Pairs, Sha1Pairs, Sha256},
        *,
    };
    use crate::{Part, PartsError, Pointer, locate};

    #[test]
    fn what_only_looks_like_a_digest_is_a_value() {
        for value in [r#"{"sha256:":"12"}"#, "\"sha256:\"", r#"{"sha256:":"G"}"#] {
            assert_eq!(kept_digest(Sha256, value), None, "{value}");
        }
        let upper = stand_in(Sha256, "1").to_uppercase().replace("SHA256", "sha256");
        assert_eq!(kept_digest(Sha256, &upper), None);
        assert_eq!(kept_digest(Sha1Pairs, &stand_in(Sha1Base64Pairs, "1")), None);
    }

    fn digests(text: &str, pointers: &[String]) -> Result<Digests, TooMuchToHash> {
        let pointers: Vec<Pointer> = pointers.iter().map(|pointer| pointer.parse().unwrap()).collect();
        let found = locate(text, &pointers).unwrap().into_iter().flatten();
        Digests::new(text, found.map(|range| (Sha256, range)))
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
        assert_eq!((digests.hashed, digests.by_value.len()), (once, 4));
        assert_eq!(digests.get(Sha256, &(0..text.len())), Some(digest(Sha256, &text).as_str()));
    }

    #[test]
    fn values_that_contain_one_another_are_not_hashed_beyond_the_limit() {
        let nested = |levels: usize, long: usize| {
            let (open, close) = ("{\"a\":".repeat(levels), "}".repeat(levels));
            let pointers: Vec<String> = (0..levels).map(|level| "/a".repeat(level)).collect();
            (format!("{open}\"{}\"{close}", "x".repeat(long)), pointers)
        };
        let (small, pointers) = nested(256, 1 << 10);
        assert_eq!(digests(&small, &pointers).unwrap().by_value.len(), 256);
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
                "the digests of one call cover {} bytes of the object, because their values contain one another or are wanted in several forms; at most {}",
                error.bytes, error.limit
            )
        );
        assert!(error.bytes > 256 << 20, "{error}");
    }

    #[test]
    fn a_value_differs_from_another_one_and_not_from_its_digest() {
        for form in DigestForm::ALL {
            let (one, other) = (r#"{"a":"1"}"#, r#"{"a":"2"}"#);
            let stand_in = |value| stand_in(form, value);
            for (left, right, differ) in [
                (one.to_owned(), one.to_owned(), false),
                (one.to_owned(), other.to_owned(), true),
                (stand_in(one), one.to_owned(), false),
                (one.to_owned(), stand_in(other), true),
                (stand_in(one), stand_in(one), false),
                (stand_in(one), stand_in(other), true),
            ] {
                assert_eq!(digests_differ(form, &left, &right), differ, "{left} {right}");
            }
        }
        assert!(!digests_differ(Sha1Pairs, r#"{"a":"1","b":"2"}"#, r#"{"b":"2","a":"1"}"#));
    }
}
