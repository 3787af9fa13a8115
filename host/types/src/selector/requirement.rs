//! One requirement of a label selector.

use std::collections::BTreeSet;

/// A label key and the requirement on its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) key: String,
    pub(super) operator: Operator,
}

/// What a requirement demands of the value of its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Exists,
    DoesNotExist,
    In(BTreeSet<String>),
    /// Also met if the label is absent.
    NotIn(BTreeSet<String>),
}

// === impl Operator ===

impl Operator {
    pub(super) fn accepts(&self, value: Option<&str>) -> bool {
        match self {
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
        }
    }

    /// The narrowest operator that is met whenever one of the two is. Returns `None` if only "anything" is.
    pub(super) fn either(&self, other: &Self) -> Option<Self> {
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
    pub(super) fn width(&self) -> (u8, usize) {
        match self {
            Self::DoesNotExist => (0, 0),
            Self::In(values) => (0, values.len()),
            Self::Exists => (1, 0),
            Self::NotIn(values) => (2, usize::MAX - values.len()),
        }
    }
}
