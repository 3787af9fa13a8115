//! Kubernetes selectors, by labels and by fields.

mod common;
mod field;
mod parse;
mod requirement;

use std::{collections::BTreeSet, fmt, str::FromStr};

pub use field::{FieldSelector, InvalidFieldSelector, UnreadableObject};

use crate::Object;
use requirement::{Operator, Requirement};

/// A label selector in Kubernetes' own syntax: `app=web,tier in (a, b),!legacy`. The empty selector selects everything
/// (L-3). See <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api>.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

/// The text is not a label selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a label selector: {problem}; write for example `app=web`, `tier!=db`, `env in (a, b)`, `app`, `!app`, joined by commas"
)]
pub struct InvalidSelector {
    text: String,
    problem: String,
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Returns true if it selects everything without reading any label.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of requirements. All of them are checked for each object.
    pub fn requirements(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the labels meet every requirement.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| requirement.operator.accepts(label(&requirement.key)))
    }

    /// Returns true if the object's labels meet every requirement.
    pub fn selects(&self, object: &Object) -> bool {
        self.matches(|key| object.label(key))
    }
}

impl FromStr for LabelSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        parse::requirements(text)
            .map(Self)
            .map_err(|problem| InvalidSelector { text: text.to_owned(), problem })
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, operator }) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let joined = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(",");
            match operator {
                Operator::Exists => write!(f, "{comma}{key}")?,
                Operator::DoesNotExist => write!(f, "{comma}!{key}")?,
                Operator::In(values) => write!(f, "{comma}{key} in ({})", joined(values))?,
                Operator::NotIn(values) => write!(f, "{comma}{key} notin ({})", joined(values))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
