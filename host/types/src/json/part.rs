//! Parts of objects: values, and digests that stand for values.

use std::{
    borrow::{Borrow, Cow},
    collections::BTreeSet,
    fmt,
    str::FromStr,
};

use super::{
    DigestForm, InvalidJson, InvalidPointer, Pointer, any_differs,
    digest::{Digests, TooMuchToHash},
    locate, same,
};

/// The parts that identify an object and its version. A cache keeps these parts of every object.
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

/// A part of an object: the value at a JSON pointer (`/spec/replicas`), or a digest of that value (`sha256:/data`, `sha1-pairs:/data`,
/// `sha1-base64-pairs:/data`), which shows whether the value has changed and takes about 80 bytes in its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pointer: Pointer,
    digest: Option<DigestForm>,
}

/// What a plugin declares to read of the objects of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reads {
    /// The declared parts, and those that identify an object.
    parts: Vec<Part>,
    some_whole: bool,
}

/// Why the parts of a text cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] InvalidJson),
    /// The values to hash have too many bytes together, because they contain one another or are requested in several forms.
    #[error(transparent)]
    TooMuchToHash(#[from] TooMuchToHash),
}

// === impl Part ===

impl Part {
    /// A digest of the value at the pointer.
    pub fn of_digest(form: DigestForm, pointer: Pointer) -> Self {
        Self { pointer, digest: Some(form) }
    }

    /// The place of the value.
    pub fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// The form of the digest; `None` if it is the value itself.
    pub fn digest(&self) -> Option<DigestForm> {
        self.digest
    }

    /// Returns true if this part suffices to answer a query for the other one.
    pub fn answers(&self, other: &Self) -> bool {
        if self.digest.is_some() { self == other } else { self.pointer.covers(&other.pointer) }
    }

    /// Finds the JSON texts of the parts in the text of an object, in the order of the parts; `None` for a part that is
    /// absent. The text of a digest is a JSON string of hexadecimal digits. Each value is hashed once for each form, however many
    /// parts are its digest.
    ///
    /// # Errors
    /// - [`PartsError::Json`] with the errors of [`locate()`].
    /// - [`PartsError::TooMuchToHash`] if values that contain one another, or are wanted in several forms, have more than twice the
    ///   bytes of the text together, and more than a mebibyte.
    pub fn texts<'j>(parts: &[Self], json: &'j str) -> Result<Vec<Option<Cow<'j, str>>>, PartsError> {
        let found = locate(json, parts)?;
        let wanted = found.iter().zip(parts).filter_map(|(range, part)| Some((part.digest?, range.clone()?)));
        let digests = Digests::new(json, wanted)?;
        let text = |(range, part): (Option<_>, &Self)| {
            let range = range?;
            Some(match part.digest {
                Some(form) => Cow::Owned(format!("\"{}\"", digests.get(form, &range)?)),
                None => Cow::Borrowed(json.get(range)?),
            })
        };
        Ok(found.into_iter().zip(parts).map(text).collect())
    }

    /// Returns true if one of the parts differs between two texts. Values are compared as JSON, digests as texts. A digest differs from
    /// the value for which it stands, because a reader of the value cannot use the digest.
    ///
    /// # Errors
    /// The errors of [`locate()`].
    pub fn differ(parts: &[Self], old: &str, new: &str) -> Result<bool, InvalidJson> {
        any_differs(old, new, parts, Self::digest, |left, right| same(Some(left), Some(right)))
    }

    /// The fewest parts that answer every query that `parts` answer. A digest becomes the value if another part is above or
    /// below it, or is another digest of the same value.
    pub fn union(parts: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let all: Vec<Self> = parts.into_iter().collect();
        let widened = all.iter().map(|part| {
            let overlaps = |other: &Self| {
                let (own, other_pointer) = (&part.pointer, &other.pointer);
                (own.covers(other_pointer) || other_pointer.covers(own)) && part != other
            };
            Self { pointer: part.pointer.clone(), digest: part.digest.filter(|_| !all.iter().any(overlaps)) }
        });
        let widened: BTreeSet<(Option<DigestForm>, Vec<String>)> =
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
        Self { pointer, digest: None }
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
        let digest = |form: DigestForm| Some((form, text.strip_prefix(form.prefix())?));
        match DigestForm::ALL.into_iter().find_map(digest) {
            Some((form, pointer)) => Ok(Self::of_digest(form, pointer.parse()?)),
            None => text.parse().map(|pointer: Pointer| Self::from(pointer)),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.digest.map_or("", DigestForm::prefix), self.pointer)
    }
}

// === impl Reads ===

impl Reads {
    /// The plugin reads these parts of every object, and those that identify the object. If `some_whole` is true, the plugin has a
    /// condition for objects that it reads as a whole.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in;

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

        let stands = format!("{{\"data\":{}}}", stand_in(DigestForm::Sha256, r#"{"a":"1"}"#));
        assert_eq!(Part::texts(&wanted, &stands).unwrap()[0], texts[0]);
        for form in DigestForm::ALL {
            let once = stand_in(form, "1");
            assert_eq!(stand_in(form, &once), once);
        }
        let pairs =
            Part::texts(&parts(&["sha1-pairs:/data", "sha256:/data", "sha1-base64-pairs:/none"]), whole)
                .unwrap();
        // printf 'a=1' | sha1sum
        assert_eq!(pairs[0].as_deref(), Some("\"86eda770a6060824b090dd4df091e3bd4121279c\""));
        assert_eq!((pairs[1].as_deref(), &pairs[2]), (Some(expected), &None));
        let other = Part::texts(&wanted, r#"{"data":{"a":"2"}}"#).unwrap();
        assert_ne!(other[0], texts[0]);
    }

    #[test]
    fn the_union_answers_all_that_its_parts_answer() {
        assert_eq!(union(&["/a/b", "/a", "/c", "/c"]), ["/a", "/c"]);
        assert_eq!(union(&["sha256:/data", "sha256:/data", "/x"]), ["/x", "sha256:/data"]);
        assert_eq!(union(&["sha256:/data", "/data"]), ["/data"]);
        assert_eq!(union(&["sha256:/data", "/data/x"]), ["/data"]);
        assert_eq!(union(&["sha256:/data/x", "/data"]), ["/data"]);
        assert_eq!(union(&["sha256:/data/x", "sha256:/data"]), ["/data"]);
        assert_eq!(union(&["sha256:/data", "sha1-pairs:/data"]), ["/data"]);
        assert_eq!(union(&["sha1-pairs:/data", "sha1-pairs:/data"]), ["sha1-pairs:/data"]);
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
