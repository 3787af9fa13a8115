//! A condition that decides how much of an object is kept.

use std::{fmt, sync::Arc};

/// A condition on objects. Two conditions are equal if their texts are.
#[derive(Clone)]
pub struct Condition(Arc<dyn Judge>);

/// Evaluates a condition. `dispatch` implements it; `cache` calls it for each object that arrives.
pub trait Judge: Send + Sync {
    /// The condition as it is written.
    fn text(&self) -> &str;

    /// Returns true if the object with this JSON text meets the condition, or if the condition cannot be evaluated.
    fn holds(&self, json: &str) -> bool;
}

// === impl Condition ===

impl Condition {
    /// The condition that this judge evaluates.
    pub fn new(judge: impl Judge + 'static) -> Self {
        Self(Arc::new(judge))
    }

    /// The condition as it is written.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// Returns true if the object with this JSON text meets the condition, or if the condition cannot be evaluated.
    pub fn holds(&self, json: &str) -> bool {
        self.0.holds(json)
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Condition {}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({})", self.text())
    }
}
