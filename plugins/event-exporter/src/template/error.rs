//! What is wrong with a template.

use serde_json::Value;

/// What is wrong with a template, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TemplateError(String);

// === impl TemplateError ===

impl TemplateError {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// A function does not take these arguments.
    pub(super) fn arguments(arguments: &[Value]) -> Self {
        Self(format!("the arguments do not fit ({} given)", arguments.len()))
    }

    /// The same error in this function.
    pub(super) fn of(self, function: &str) -> Self {
        Self(format!("{function}: {}", self.0))
    }
}
