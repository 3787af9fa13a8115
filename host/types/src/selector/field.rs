//! Kubernetes field selectors.

use std::{borrow::Cow, fmt, str::FromStr};

use crate::{CodecError, InvalidJson, Object, Pointer, locate};

/// A field selector in Kubernetes' own syntax: `spec.nodeName=node-1,status.phase!=Running`. Empty selects
/// everything. See <https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/>.
///
/// The API server knows some fields of each resource; here any path leads somewhere. A field is compared as text: a
/// number or a truth value as JSON writes it, one that is absent or null as the empty text. A field that is an object
/// or an array equals nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// As written: `spec.nodeName`.
    path: String,
    pointer: Pointer,
    equal: bool,
    value: String,
}

/// A text that is no field selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a field selector; write for example `spec.nodeName=node-1` or `status.phase!=Running`, joined by commas"
)]
pub struct InvalidFieldSelector(String);

/// An object whose fields cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableObject {
    /// Its packed body does not unpack.
    #[error(transparent)]
    Packed(#[from] CodecError),
    /// Its text is not JSON.
    #[error(transparent)]
    Json(#[from] InvalidJson),
}

// === impl FieldSelector ===

impl FieldSelector {
    /// True where it selects everything, without reading any field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where the fields lie that it reads.
    pub fn pointers(&self) -> impl Iterator<Item = &Pointer> {
        self.0.iter().map(|term| &term.pointer)
    }

    /// True where the object's fields satisfy every term. The body is read only where the name and the namespace do
    /// not decide.
    ///
    /// # Errors
    /// [`UnreadableObject`], which is a bug of whoever made the object.
    pub fn selects(&self, object: &Object) -> Result<bool, UnreadableObject> {
        let mut in_body = Vec::new();
        for term in &self.0 {
            match term.in_header(object) {
                Some(value) if !term.accepts(value) => return Ok(false),
                Some(_) => {}
                None => in_body.push(term),
            }
        }
        if in_body.is_empty() {
            return Ok(true);
        }
        let json = object.json()?;
        let pointers: Vec<Pointer> = in_body.iter().map(|term| term.pointer.clone()).collect();
        let found = locate(&json, &pointers)?;
        let values = found.into_iter().map(|range| as_text(range.and_then(|range| json.get(range))));
        Ok(in_body.iter().zip(values).all(|(term, value)| match value {
            Some(value) => term.accepts(&value),
            None => !term.equal,
        }))
    }

    /// What both demand of the two fields that the API server knows of every resource, `metadata.name` and
    /// `metadata.namespace`: whatever either selects, this does.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let everywhere = |term: &&Term| ["metadata.name", "metadata.namespace"].contains(&&*term.path);
        Self(self.0.iter().filter(everywhere).filter(|term| other.0.contains(term)).cloned().collect())
    }

    /// What satisfies both.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for term in &other.0 {
            if !self.0.contains(term) {
                self.0.push(term.clone());
            }
        }
        self
    }
}

impl FromStr for FieldSelector {
    type Err = InvalidFieldSelector;

    fn from_str(text: &str) -> Result<Self, InvalidFieldSelector> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let terms: Option<Vec<Term>> = split(text).into_iter().map(|term| Term::parse(&term)).collect();
        terms.map(Self).ok_or_else(|| InvalidFieldSelector(text.to_owned()))
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Term { path, equal, value, .. }) in self.0.iter().enumerate() {
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
        let pointer = Pointer::of(path.split('.'));
        Some(Self { path: path.to_owned(), pointer, equal, value: unescape(value)? })
    }

    fn accepts(&self, value: &str) -> bool {
        (self.value == value) == self.equal
    }

    fn in_header<'a>(&self, object: &'a Object) -> Option<&'a str> {
        match &*self.path {
            "metadata.name" => Some(object.name()),
            "metadata.namespace" => Some(object.namespace()),
            _ => None,
        }
    }
}

/// Cut at the commas that no `\` stands before, as `k8s.io/apimachinery/pkg/fields` does.
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

/// None where a `\` stands before anything but `\`, `,` and `=`, or one of the latter without it.
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

/// None: an object or an array.
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
