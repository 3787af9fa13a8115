//! Kubernetes selectors, by labels, annotations and fields.

mod annotation;
mod field;

use std::{collections::BTreeSet, fmt, str::FromStr};

pub use annotation::{AnnotationSelector, InvalidAnnotationSelector};
pub use field::{FieldSelector, InvalidFieldSelector, UnreadableObject};

use crate::Object;

/// A label selector in Kubernetes' own syntax: `app=web,tier in (a, b),!legacy`. The empty selector selects everything
/// (L-3). See <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api>.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

/// A label key and the requirement on its value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

/// What a requirement demands of the value of its label.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    DoesNotExist,
    In(BTreeSet<String>),
    /// Also met if the label is absent.
    NotIn(BTreeSet<String>),
}

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

    /// The most requirements of a selector that a plugin or a tenant wrote, because each is checked against every object.
    pub const UNTRUSTED_REQUIREMENTS: usize = 64;

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

    /// The requirements that both selectors share. The result selects everything that either selector selects, and as
    /// little else as label requirements can express. `app in (a)` and `app in (b)` give `app in (a, b)`; `app=a` and
    /// `app` give `app`.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let mut common = Self::default();
        for requirement in &self.0 {
            common.add(requirement.weakened(other));
        }
        for requirement in &other.0 {
            common.add(requirement.weakened(self));
        }
        common
    }

    /// The requirements of both selectors.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for requirement in &other.0 {
            self.add(Some(requirement.clone()));
        }
        self
    }

    fn add(&mut self, requirement: Option<Requirement>) {
        self.0.extend(requirement.filter(|requirement| !self.0.contains(requirement)));
    }
}

impl FromStr for LabelSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        requirements(text).map(Self).map_err(|problem| InvalidSelector { text: text.to_owned(), problem })
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

// === impl Requirement ===

impl Requirement {
    /// The narrowest requirement on the same label that accepts every object that meets this requirement and every object that
    /// `other` selects. Returns `None` if only a requirement that accepts everything does that.
    fn weakened(&self, other: &LabelSelector) -> Option<Self> {
        let same_key = other.0.iter().filter(|requirement| requirement.key == self.key);
        let operators = same_key.filter_map(|theirs| self.operator.either(&theirs.operator));
        let operator = operators.min_by_key(Operator::width)?;
        Some(Self { key: self.key.clone(), operator })
    }
}

// === impl Operator ===

impl Operator {
    fn accepts(&self, value: Option<&str>) -> bool {
        match self {
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
        }
    }

    /// The narrowest operator that accepts every value that one of the two accepts. Returns `None` if it would accept everything.
    fn either(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::In(one), Self::In(two)) => Some(Self::In(one | two)),
            (Self::In(_) | Self::Exists, Self::In(_) | Self::Exists) => Some(Self::Exists),
            (Self::In(values), Self::NotIn(not)) | (Self::NotIn(not), Self::In(values)) => {
                Self::none_of(not - values)
            }
            (Self::NotIn(one), Self::NotIn(two)) => Self::none_of(one & two),
            (Self::DoesNotExist, Self::DoesNotExist) => Some(Self::DoesNotExist),
            (Self::NotIn(not), Self::DoesNotExist) | (Self::DoesNotExist, Self::NotIn(not)) => {
                Self::none_of(not.clone())
            }
            // One needs the label and the other its absence, or one accepts any value.
            (Self::Exists | Self::In(_), Self::DoesNotExist)
            | (Self::DoesNotExist, Self::Exists | Self::In(_))
            | (Self::Exists, Self::NotIn(_))
            | (Self::NotIn(_), Self::Exists) => None,
        }
    }

    fn none_of(values: BTreeSet<String>) -> Option<Self> {
        (!values.is_empty()).then_some(Self::NotIn(values))
    }

    /// The lower the result, the fewer values the operator accepts.
    fn width(&self) -> (u8, usize) {
        match self {
            Self::DoesNotExist => (0, 0),
            Self::In(values) => (0, values.len()),
            Self::Exists => (1, 0),
            Self::NotIn(values) => (2, usize::MAX - values.len()),
        }
    }
}

// The grammar is that of `k8s.io/apimachinery/pkg/labels`, without its operators `>` and `<`.

/// Parses a whole selector. The error describes the problem.
fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    split_outside_parentheses(text)?.into_iter().map(|part| requirement(part.trim())).collect()
}

/// Splits in one pass over the text, because a guest may pass a text with any number of commas.
fn split_outside_parentheses(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut from, mut inside) = (Vec::new(), 0, false);
    for (at, found) in text.match_indices(['(', ')', ',']) {
        match (found, inside) {
            ("(", false) => inside = true,
            (")", true) => inside = false,
            (",", true) => {}
            (",", false) => {
                parts.push(text.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => return Err(format!("there is a `{found}` out of place")),
        }
    }
    if inside {
        return Err("a `(` is not closed".to_owned());
    }
    parts.push(text.get(from..).unwrap_or_default());
    Ok(parts)
}

fn requirement(text: &str) -> Result<Requirement, String> {
    if text.is_empty() {
        return Err("there is nothing between two commas".to_owned());
    }
    if let Some(key) = text.strip_prefix('!') {
        return make(key, Operator::DoesNotExist);
    }
    if let Some(open) = text.find('(') {
        return set_based(text, open);
    }
    for (sign, negated) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((key, value)) = text.split_once(sign) {
            let values = BTreeSet::from([valid_value(value)?]);
            return make(key, if negated { Operator::NotIn(values) } else { Operator::In(values) });
        }
    }
    make(text, Operator::Exists)
}

fn set_based(text: &str, open: usize) -> Result<Requirement, String> {
    let (head, list) = text.split_at(open);
    let list = list
        .strip_prefix('(')
        .and_then(|list| list.strip_suffix(')'))
        .ok_or_else(|| format!("`{text}` must end with `)`"))?;
    let (key, word) = head
        .trim()
        .rsplit_once(char::is_whitespace)
        .ok_or_else(|| format!("`{text}` has no `in` or `notin` before `(`"))?;
    let values = list.split(',').map(valid_value).collect::<Result<BTreeSet<_>, _>>()?;
    match word {
        "in" => make(key, Operator::In(values)),
        "notin" => make(key, Operator::NotIn(values)),
        other => Err(format!("`{other}` is neither `in` nor `notin`")),
    }
}

fn make(key: &str, operator: Operator) -> Result<Requirement, String> {
    let key = key.trim();
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_fits = prefix.is_none_or(|prefix| {
        !prefix.is_empty()
            && prefix.len() <= 253
            && prefix
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
    });
    if name.is_empty() || !prefix_fits || !is_qualified(name) {
        return Err(format!("`{key}` is not a label key"));
    }
    Ok(Requirement { key: key.to_owned(), operator })
}

fn valid_value(value: &str) -> Result<String, String> {
    let value = value.trim();
    if value.is_empty() || is_qualified(value) {
        Ok(value.to_owned())
    } else {
        Err(format!("`{value}` is not a label value"))
    }
}

/// Returns true for at most 63 characters: letters and digits at both ends, also `-`, `_` and `.` between them.
fn is_qualified(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && edge(text.bytes().next())
        && edge(text.bytes().last())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests;
