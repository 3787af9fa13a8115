//! Selectors of annotations.

use std::{borrow::Cow, fmt, str::FromStr};

use super::{LabelSelector, UnreadableObject, requirements};
use crate::{Object, Pointer, locate};

/// Selects objects by their annotations, in the syntax of a label selector: `reloader.stakater.com/auto=true,!legacy`. The empty
/// selector selects everything. Keys and values are those that labels may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotationSelector {
    selector: LabelSelector,
    /// The annotation of each requirement, in the order of the requirements.
    pointers: Vec<Pointer>,
}

/// The text is not an annotation selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an annotation selector: {problem}; write for example `reloader.stakater.com/auto=true`, `owner in (a, b)`, `owner`, `!owner`, joined by commas; for values that no label may have, write `when`"
)]
pub struct InvalidAnnotationSelector {
    text: String,
    problem: String,
}

// === impl AnnotationSelector ===

impl AnnotationSelector {
    /// Returns true if it selects everything without reading any annotation.
    pub fn is_empty(&self) -> bool {
        self.selector.is_empty()
    }

    /// The pointers to the annotations that it reads.
    pub fn pointers(&self) -> &[Pointer] {
        &self.pointers
    }

    /// Returns true if the object's annotations meet every requirement. Reads the body of the object.
    ///
    /// # Errors
    /// [`UnreadableObject`] if the object was made from a text that is not JSON, which is a bug.
    pub fn selects(&self, object: &Object) -> Result<bool, UnreadableObject> {
        if self.is_empty() {
            return Ok(true);
        }
        let json = object.json()?;
        let found = locate(&json, &self.pointers)?;
        let values = found.into_iter().map(|range| text(range.and_then(|range| json.get(range))?));
        let mut of_requirements = self.selector.0.iter().zip(values);
        Ok(of_requirements.all(|(requirement, value)| requirement.operator.accepts(value.as_deref())))
    }
}

impl FromStr for AnnotationSelector {
    type Err = InvalidAnnotationSelector;

    fn from_str(text: &str) -> Result<Self, InvalidAnnotationSelector> {
        let requirements = requirements(text)
            .map_err(|problem| InvalidAnnotationSelector { text: text.to_owned(), problem })?;
        let keys = requirements.iter().map(|requirement| requirement.key.as_str());
        let pointers = keys.map(|key| Pointer::of(["metadata", "annotations", key])).collect();
        Ok(Self { selector: LabelSelector(requirements), pointers })
    }
}

impl fmt::Display for AnnotationSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.selector.fmt(f)
    }
}

/// The value of a JSON string. Returns `None` for anything else, which the API server does not accept as an annotation.
fn text(json: &str) -> Option<Cow<'_, str>> {
    let plain = json.strip_prefix('"')?.strip_suffix('"')?;
    if plain.contains('\\') {
        serde_json::from_str(json).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(plain))
    }
}
