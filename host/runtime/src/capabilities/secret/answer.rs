//! Masks the Secrets in an answer of the API server, by its text.
//!
//! The memory for it is in proportion to the text: a copy with the masks, and the names of one object at each level. A tree of small
//! values would take a hundred times the memory of their text, and no plugin would be charged for it. The text is read once to check
//! it, and then once for each level of lists, because an object may have its kind behind its items.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use informer_types::{NotJson, Scanner, SecretGrants};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

use super::{
    mask_secret,
    masked_text::{MASK, MaskedText},
};

/// How deep an answer is searched for Secrets: an event of a watch, or a row of a table, in a list of lists.
pub(super) const SEARCHED_DEPTH: usize = 8;

/// The fields that hold the objects of a list, of a table, and of a row or an event.
const BELOW: [&str; 3] = ["items", "rows", "object"];

/// A search for the Secrets of an answer that the grants do not name.
struct Search<'a> {
    grants: &'a SecretGrants,
    masked: MaskedText<'a>,
}

/// What the text of an object says about its type and its name.
#[derive(Default)]
struct Identity<'a> {
    api_version: Text<'a>,
    kind: Text<'a>,
    namespace: Text<'a>,
    name: Text<'a>,
}

/// The text of a field. It is empty if the field is absent or is not a string.
#[derive(Default)]
enum Text<'a> {
    #[default]
    Absent,
    Once(Cow<'a, str>),
    /// The field appears twice. Readers of JSON differ in which value they take.
    Repeated,
}

/// How an object is shown.
enum Treatment {
    /// It is a Secret that the plugin may not see.
    Masked,
    /// All of it is shown.
    Whole,
    /// All of it is shown, except for the Secrets below it.
    Searched {
        /// True if the objects below are Secrets even without a kind.
        listed: bool,
    },
}

/// A value that serde_json could read into a tree. The value is checked and not kept.
struct Readable;

/// Masks every Secret in an answer of the API server, unless the grants name it. Secrets inside a list, a table or a watch event are
/// masked too. If an object has two keys `kind` or two keys `apiVersion`, readers may disagree about its type, so the object is masked
/// as a Secret. Returns the same bytes if there is nothing to mask.
pub(crate) fn masked_answer(grants: &SecretGrants, answer: Bytes) -> Bytes {
    if !may_hold_secret(&answer) {
        return answer;
    }
    let text = std::str::from_utf8(&answer).map_err(|_| NotJson);
    match text.and_then(|text| masked_documents(grants, text)) {
        Ok(Some(masked)) => masked.into(),
        Ok(None) => answer,
        // It may be a part of a Secret.
        Err(NotJson) => Bytes::from_static(MASK.as_bytes()),
    }
}

/// Returns false if the text cannot have the kind of a Secret, so that other answers are not parsed.
pub(super) fn may_hold_secret(answer: &[u8]) -> bool {
    let mut quoted = answer.split(|byte| *byte == b'"');
    // The escape of a letter is unusual, and may be one of the kind.
    quoted.any(|text| matches!(text, b"Secret" | b"SecretList") || text.windows(4).any(|it| it == b"\\u00"))
}

/// The text with its masks. Returns `None` if it has no Secret to mask.
fn masked_documents(grants: &SecretGrants, text: &str) -> Result<Option<String>, NotJson> {
    // The stream of a watch has several documents.
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Readable>();
    if !documents.all(|document| document.is_ok()) {
        return Err(NotJson);
    }
    let (mut scanner, mut search) = (Scanner::new(text), Search { grants, masked: MaskedText::new(text) });
    while scanner.peek().is_some() {
        search.value(&mut scanner, false, 0)?;
    }
    Ok(search.masked.finish())
}

// === impl Search ===

impl Search<'_> {
    /// Masks the Secrets in a value that is an object, a list, a table or an event. `listed` is true for an item of a list of
    /// Secrets, which has no kind of its own.
    fn value(&mut self, scanner: &mut Scanner<'_>, listed: bool, depth: usize) -> Result<(), NotJson> {
        if scanner.peek() != Some(b'{') {
            return scanner.skip().map(|_| ());
        }
        let treatment = Identity::read(&mut scanner.clone())?.treatment(self.grants, listed);
        match treatment {
            Treatment::Masked => mask_secret(scanner, &mut self.masked),
            Treatment::Whole => scanner.skip().map(|_| ()),
            Treatment::Searched { listed } => self.below(scanner, listed, depth),
        }
    }

    /// Masks the Secrets below an object. The scanner is at its opening brace.
    fn below(&mut self, scanner: &mut Scanner<'_>, listed: bool, depth: usize) -> Result<(), NotJson> {
        scanner.object(|scanner, field| {
            if !BELOW.contains(&&*field.unescaped()) {
                return scanner.skip().map(|_| ());
            }
            if scanner.peek() == Some(b'[') {
                scanner.array(|scanner| self.entry(scanner, listed, depth))
            } else {
                self.entry(scanner, listed, depth)
            }
        })
    }

    /// Masks the Secrets in a value one level below `depth`. A value that is too deep to be searched is masked.
    fn entry(&mut self, scanner: &mut Scanner<'_>, listed: bool, depth: usize) -> Result<(), NotJson> {
        if depth < SEARCHED_DEPTH {
            return self.value(scanner, listed, depth + 1);
        }
        scanner.skip().map(|value| self.masked.mask(value))
    }
}

// === impl Identity ===

impl<'a> Identity<'a> {
    /// Reads the object at the scanner.
    fn read(scanner: &mut Scanner<'a>) -> Result<Self, NotJson> {
        let (mut identity, mut has_metadata) = (Self::default(), false);
        scanner.object(|scanner, field| {
            match &*field.unescaped() {
                "apiVersion" => identity.api_version.read(scanner)?,
                "kind" => identity.kind.read(scanner)?,
                "metadata" => {
                    if has_metadata {
                        (identity.namespace, identity.name) = (Text::Repeated, Text::Repeated);
                    }
                    has_metadata = true;
                    identity.read_metadata(scanner)?;
                }
                _ => {
                    scanner.skip()?;
                }
            }
            Ok::<_, NotJson>(())
        })?;
        Ok(identity)
    }

    fn read_metadata(&mut self, scanner: &mut Scanner<'a>) -> Result<(), NotJson> {
        if scanner.peek() != Some(b'{') {
            return scanner.skip().map(|_| ());
        }
        scanner.object(|scanner, field| match &*field.unescaped() {
            "namespace" => self.namespace.read(scanner),
            "name" => self.name.read(scanner),
            _ => scanner.skip().map(|_| ()),
        })
    }

    /// How the object is shown. `listed` is true for an item of a list of Secrets. If a field that decides appears twice, the object
    /// is masked.
    fn treatment(&self, grants: &SecretGrants, listed: bool) -> Treatment {
        let (Some(kind), Some(api_version)) = (self.kind.once(), self.api_version.once()) else {
            return Treatment::Masked;
        };
        let core = !api_version.contains('/');
        if !core || !(kind == "Secret" || (listed && kind.is_empty())) {
            return Treatment::Searched { listed: core && kind == "SecretList" };
        }
        match (self.namespace.once(), self.name.once()) {
            (Some(namespace), Some(name)) if grants.contains(namespace, name) => Treatment::Whole,
            _ => Treatment::Masked,
        }
    }
}

// === impl Text ===

impl<'a> Text<'a> {
    /// Reads the value of the field at the scanner.
    fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), NotJson> {
        let text = if scanner.peek() == Some(b'"') {
            scanner.string()?.unescaped()
        } else {
            scanner.skip()?;
            Cow::Borrowed("")
        };
        *self = if matches!(self, Self::Absent) { Self::Once(text) } else { Self::Repeated };
        Ok(())
    }

    /// The text. Returns `None` if the field appears twice.
    fn once(&self) -> Option<&str> {
        match self {
            Self::Absent => Some(""),
            Self::Once(text) => Some(text),
            Self::Repeated => None,
        }
    }
}

// === impl Readable ===

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        while entries.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests;
