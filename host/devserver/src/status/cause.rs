//! One cause of a failure: a field and what is wrong with it.

use serde_json::{Value, json};

use crate::object::set;

/// An entry of `details.causes`.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    reason: &'static str,
    field: String,
    message: String,
}

// === impl Cause ===

impl Cause {
    pub(crate) fn new(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, field: field.into(), message: message.into() }
    }

    /// The value of a field breaks a rule.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {why}"))
    }

    /// A required field is missing.
    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let message =
            if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self::new("FieldValueRequired", field, message)
    }

    /// The field, or a change of the field, is not allowed.
    pub(crate) fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }

    /// The value is not one of the allowed values.
    pub(crate) fn not_supported(field: impl Into<String>, value: &Value, allowed: &[&str]) -> Self {
        let allowed: Vec<String> = allowed.iter().map(|v| format!("\"{v}\"")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", allowed.join(", "));
        Self::new("FieldValueNotSupported", field, message)
    }

    pub(super) fn to_json(&self) -> Value {
        let mut cause = json!({"reason": self.reason, "message": self.message});
        if !self.field.is_empty() {
            set(&mut cause, "field", self.field.as_str());
        }
        cause
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}
