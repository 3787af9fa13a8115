//! Kubernetes field selectors.

use std::{borrow::Cow, fmt, str::FromStr};

use crate::{CodecError, InvalidJson, Object, Pointer, locate};

/// A field selector in Kubernetes' own syntax: `spec.nodeName=node-1,status.phase!=Running`. The empty selector selects
/// everything. See <https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/>.
///
/// The API server supports some fields of each resource; here any path is allowed. A field is compared as text: a number or a
/// boolean as JSON writes it, and an absent field or `null` as the empty text. A field that is an object or an array equals
/// nothing. Values are not trimmed. No field has white space at its start or end, so a selector with such a value is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
    /// The fields that are not in the object's header, in the order of their terms.
    in_body: Vec<Pointer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// The path as written: `spec.nodeName`.
    path: String,
    place: Place,
    equal: bool,
    value: String,
}

/// The part of an object in which a field is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Name,
    Namespace,
    Body,
}

/// The text is not a field selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a field selector; write for example `spec.nodeName=node-1` or `status.phase!=Running`, joined by commas, without blanks around the sign"
)]
pub struct InvalidFieldSelector(String);

/// The fields of an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableObject {
    /// The packed body cannot be unpacked.
    #[error(transparent)]
    Packed(#[from] CodecError),
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] InvalidJson),
}

// === impl FieldSelector ===

impl FieldSelector {
    /// Returns true if it selects everything without reading any field.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The pointers to the fields that it reads.
    pub fn pointers(&self) -> impl Iterator<Item = Pointer> {
        self.terms.iter().map(Term::pointer)
    }

    /// Returns true if the object's fields meet every term. The body is read only if the name and the namespace do not
    /// decide.
    ///
    /// # Errors
    /// [`UnreadableObject`] if the object was made from a text that is not JSON, which is a bug.
    pub fn selects(&self, object: &Object) -> Result<bool, UnreadableObject> {
        for term in &self.terms {
            if term.in_header(object).is_some_and(|value| !term.accepts(value)) {
                return Ok(false);
            }
        }
        if self.in_body.is_empty() {
            return Ok(true);
        }
        let json = object.json()?;
        let found = locate(&json, &self.in_body)?;
        let values = found.into_iter().map(|range| as_text(range.and_then(|range| json.get(range))));
        let terms = self.terms.iter().filter(|term| term.place == Place::Body);
        Ok(terms.zip(values).all(|(term, value)| match value {
            Some(value) => term.accepts(&value),
            None => !term.equal,
        }))
    }

    fn new(terms: Vec<Term>) -> Self {
        let in_body = terms.iter().filter(|term| term.place == Place::Body).map(Term::pointer).collect();
        Self { terms, in_body }
    }

    /// The terms that both selectors share on the two fields that the API server supports for every resource,
    /// `metadata.name` and `metadata.namespace`. The result selects everything that either selector selects.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let everywhere = self.terms.iter().filter(|term| term.place != Place::Body);
        Self::new(everywhere.filter(|term| other.terms.contains(term)).cloned().collect())
    }

    /// The terms of both selectors.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        let mut terms = self.terms;
        for term in &other.terms {
            if !terms.contains(term) {
                terms.push(term.clone());
            }
        }
        Self::new(terms)
    }
}

impl FromStr for FieldSelector {
    type Err = InvalidFieldSelector;

    fn from_str(text: &str) -> Result<Self, InvalidFieldSelector> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let terms: Option<Vec<Term>> = split(text).into_iter().map(|term| Term::parse(&term)).collect();
        terms.map(Self::new).ok_or_else(|| InvalidFieldSelector(text.to_owned()))
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Term { path, equal, value, .. }) in self.terms.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let sign = if *equal { "=" } else { "!=" };
            let value = value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            write!(f, "{comma}{path}{sign}{value}")?;
        }
        Ok(())
    }
}

// === impl Term ===

impl Term {
    fn parse(text: &str) -> Option<Self> {
        let at = text.find(['=', '!'])?;
        let (path, rest) = text.split_at(at);
        let (value, equal) = [("==", true), ("!=", false), ("=", true)]
            .iter()
            .find_map(|(sign, equal)| rest.strip_prefix(sign).map(|value| (value, *equal)))?;
        let path = path.trim();
        if path.is_empty() || path.split('.').any(str::is_empty) {
            return None;
        }
        if value.trim().len() != value.len() {
            return None;
        }
        let place = match path {
            "metadata.name" => Place::Name,
            "metadata.namespace" => Place::Namespace,
            _ => Place::Body,
        };
        Some(Self { path: path.to_owned(), place, equal, value: unescape(value)? })
    }

    fn pointer(&self) -> Pointer {
        Pointer::of(self.path.split('.'))
    }

    fn accepts(&self, value: &str) -> bool {
        (self.value == value) == self.equal
    }

    fn in_header<'a>(&self, object: &'a Object) -> Option<&'a str> {
        match self.place {
            Place::Name => Some(object.name()),
            Place::Namespace => Some(object.namespace()),
            Place::Body => None,
        }
    }
}

/// Splits at commas that are not escaped with `\`, as `k8s.io/apimachinery/pkg/fields` does.
fn split(text: &str) -> Vec<String> {
    let (mut terms, mut escaped) = (vec![String::new()], false);
    for character in text.chars() {
        match (character, terms.last_mut()) {
            (',', _) if !escaped => terms.push(String::new()),
            (_, Some(term)) => term.push(character),
            (_, None) => {}
        }
        escaped = character == '\\' && !escaped;
    }
    terms
}

/// Returns `None` if a `\` precedes anything but `\`, `,` and `=`, or if a `=` is not escaped.
fn unescape(value: &str) -> Option<String> {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => characters.next().filter(|escaped| ['\\', ',', '='].contains(escaped))?,
            '=' => return None,
            other => other,
        });
    }
    Some(text)
}

/// The value as text. Returns `None` for an object or an array.
fn as_text(json: Option<&str>) -> Option<Cow<'_, str>> {
    match json {
        None | Some("null") => Some(Cow::Borrowed("")),
        Some(json) if json.starts_with(['{', '[']) => None,
        Some(json) if json.starts_with('"') => serde_json::from_str(json).ok().map(Cow::Owned),
        Some(json) => Some(Cow::Borrowed(json)),
    }
}

#[cfg(test)]
mod tests;
