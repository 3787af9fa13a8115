//! Parts of objects: values, and digests that stand for values.

use std::{
    borrow::{Borrow, Cow},
    collections::BTreeSet,
    fmt::{self, Write},
    str::FromStr,
};

use sha2::{Digest, Sha256};

use super::{InvalidJson, InvalidPointer, Pointer, locate, same};

/// Written before the pointer of a digest.
const SHA256: &str = "sha256:";

/// A digest in place of a value, as JSON text: `{"sha256:":"<64 hexadecimal digits>"}`.
const STAND_IN: (&str, &str) = ("{\"sha256:\":\"", "\"}");

/// The hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// What identifies an object and its version. It is kept of every object.
const IDENTITY: [&str; 11] = [
    "/apiVersion",
    "/kind",
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/generation",
    "/metadata/creationTimestamp",
    "/metadata/deletionTimestamp",
    "/metadata/labels",
    "/metadata/ownerReferences",
];

/// A part of an object: the value at a JSON pointer (`/spec/replicas`), or the SHA-256 digest of the text of that value
/// (`sha256:/data`), which says whether the value has changed and takes 80 bytes in place of the value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pointer: Pointer,
    digest: bool,
}

/// What a plugin declares to read of the objects of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reads {
    /// With what identifies an object.
    parts: Vec<Part>,
    some_whole: bool,
}

// === impl Part ===

impl Part {
    /// The digest of the value at the pointer.
    pub fn digest(pointer: Pointer) -> Self {
        Self { pointer, digest: true }
    }

    /// The place of the value.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// Returns true if it is the digest of the value and not the value.
    pub fn is_digest(&self) -> bool {
        self.digest
    }

    /// Returns true if this part suffices to answer a query for the other one.
    pub fn answers(&self, other: &Self) -> bool {
        if self.digest { self == other } else { self.pointer.covers(&other.pointer) }
    }

    /// Finds the JSON texts of the parts in the text of an object, in the order of the parts; `None` for a part that is
    /// absent. The text of a digest is a JSON string of 64 hexadecimal digits.
    ///
    /// # Errors
    /// The errors of [`locate()`].
    pub fn texts<'j>(parts: &[Self], json: &'j str) -> Result<Vec<Option<Cow<'j, str>>>, InvalidJson> {
        let found = locate(json, parts)?.into_iter().zip(parts);
        let text = |(range, part): (Option<_>, &Self)| {
            let value = json.get(range?)?;
            Some(if part.digest {
                Cow::Owned(format!("\"{}\"", digest(value)))
            } else {
                Cow::Borrowed(value)
            })
        };
        Ok(found.map(text).collect())
    }

    /// Returns true if one of the parts differs between two texts. Values are compared as by [`differs()`](super::differs()), digests as texts.
    ///
    /// # Errors
    /// The errors of [`locate()`].
    pub fn differ(parts: &[Self], old: &str, new: &str) -> Result<bool, InvalidJson> {
        let texts = Self::texts(parts, old)?.into_iter().zip(Self::texts(parts, new)?);
        for (left, right) in texts {
            if !same(left.as_deref(), right.as_deref())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The fewest parts that answer every query that `parts` answer. A digest becomes the value if another part is above or
    /// below it.
    pub fn union(parts: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let all: Vec<Self> = parts.into_iter().collect();
        let widened = all.iter().map(|part| {
            let overlaps = |other: &Self| {
                let (own, other_pointer) = (&part.pointer, &other.pointer);
                (own.covers(other_pointer) || other_pointer.covers(own)) && part != other
            };
            Self { pointer: part.pointer.clone(), digest: part.digest && !all.iter().any(overlaps) }
        });
        let widened: BTreeSet<(bool, Vec<String>)> =
            widened.map(|part| (part.digest, part.pointer.tokens().to_vec())).collect();
        let widened: Vec<Self> = widened
            .into_iter()
            .map(|(digest, tokens)| Self { pointer: Pointer::of(tokens), digest })
            .collect();
        let covered = |part: &&Self| !widened.iter().any(|other| other != *part && other.answers(part));
        widened.iter().filter(covered).cloned().collect()
    }
}

impl From<Pointer> for Part {
    /// The value at the pointer.
    fn from(pointer: Pointer) -> Self {
        Self { pointer, digest: false }
    }
}

impl Borrow<Pointer> for Part {
    fn borrow(&self) -> &Pointer {
        &self.pointer
    }
}

impl FromStr for Part {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        match text.strip_prefix(SHA256) {
            Some(pointer) => pointer.parse().map(Self::digest),
            None => text.parse().map(|pointer: Pointer| Self::from(pointer)),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.digest { SHA256 } else { "" }, self.pointer)
    }
}

// === impl Reads ===

impl Reads {
    /// These parts of every object, and what identifies it. If `some_whole` is true, the plugin has a condition for objects that
    /// it reads as a whole.
    pub fn new(parts: &[Part], some_whole: bool) -> Self {
        Self { parts: identity().chain(parts.iter().cloned()).collect(), some_whole }
    }

    /// Returns the first of the parts that the plugin does not declare to read of every object.
    pub fn undeclared<'p>(&self, parts: &'p [Part]) -> Option<&'p Part> {
        parts.iter().find(|part| !self.parts.iter().any(|own| own.answers(part)))
    }

    /// Returns true if the plugin has a condition for objects that it reads as a whole.
    pub fn some_whole(&self) -> bool {
        self.some_whole
    }
}

/// What identifies an object.
pub fn identity() -> impl Iterator<Item = Part> {
    IDENTITY.iter().filter_map(|pointer| pointer.parse().ok())
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

    fn parts(texts: &[&str]) -> Vec<Part> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn union(texts: &[&str]) -> Vec<String> {
        Part::union(parts(texts)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_digest_is_that_of_the_text_and_of_what_stands_for_it() {
        let whole = r#"{"data":{"a":"1"},"b":null}"#;
        let wanted = parts(&["sha256:/data", "/data/a", "sha256:/b", "sha256:/none"]);
        let texts = Part::texts(&wanted, whole).unwrap();
        // printf '{"a":"1"}' | sha256sum
        let expected = "\"9afeb0f2b203f254312ec8ded441d0318b7c34c57f8695ede42d2215a30c0960\"";
        assert_eq!(texts[0].as_deref(), Some(expected));
        assert_eq!(texts[1].as_deref(), Some("\"1\""));
        assert!(texts[2].is_some() && texts[3].is_none());

        let stands = format!("{{\"data\":{}}}", stand_in(r#"{"a":"1"}"#));
        assert_eq!(Part::texts(&wanted, &stands).unwrap()[0], texts[0]);
        assert_eq!(stand_in(&stand_in("1")), stand_in("1"));
        let other = Part::texts(&wanted, r#"{"data":{"a":"2"}}"#).unwrap();
        assert_ne!(other[0], texts[0]);
    }

    #[test]
    fn what_only_looks_like_a_digest_is_a_value() {
        for value in [r#"{"sha256:":"12"}"#, "\"sha256:\"", r#"{"sha256:":"G"}"#] {
            assert_eq!(kept_digest(value), None, "{value}");
        }
        let upper = stand_in("1").to_uppercase().replace("SHA256", "sha256");
        assert_eq!(kept_digest(&upper), None);
    }

    #[test]
    fn the_union_answers_all_that_its_parts_answer() {
        assert_eq!(union(&["/a/b", "/a", "/c", "/c"]), ["/a", "/c"]);
        assert_eq!(union(&["sha256:/data", "sha256:/data", "/x"]), ["/x", "sha256:/data"]);
        assert_eq!(union(&["sha256:/data", "/data"]), ["/data"]);
        assert_eq!(union(&["sha256:/data", "/data/x"]), ["/data"]);
        assert_eq!(union(&["sha256:/data/x", "/data"]), ["/data"]);
        assert_eq!(union(&["sha256:/data/x", "sha256:/data"]), ["/data"]);
    }

    #[test]
    fn declared_parts_include_what_is_below_them_and_what_identifies_an_object() {
        let reads = Reads::new(&parts(&["/spec", "sha256:/data"]), false);
        let includes = |text: &str| reads.undeclared(&parts(&[text])).is_none();

        for text in ["/spec", "/spec/a", "sha256:/spec/a", "sha256:/data", "/metadata/labels/app", "/kind"] {
            assert!(includes(text), "{text}");
        }
        for text in ["", "/data", "/data/a", "sha256:/data/a", "/metadata", "/metadata/annotations"] {
            assert!(!includes(text), "{text}");
        }
    }
}
