//! The `Status` with which an API server refuses a request.

use serde_json::{Value, json};

/// A `meta/v1 Status` that reports a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The HTTP code, also for a `Status` inside a stream.
    pub code: u16,
    /// The machine-readable reason; empty if unknown.
    pub reason: String,
    /// The text for people.
    pub message: String,
    /// The reason of the only cause in the details; empty for no cause.
    pub cause: String,
}

// === impl Status ===

impl Status {
    /// The status that kube-apiserver sends with this code, with its usual reason. The reason is empty if the code has
    /// no usual reason.
    #[must_use]
    pub fn of(code: u16) -> Self {
        let (reason, message) = match code {
            400 => ("BadRequest", "the server rejected our request for an unknown reason"),
            401 => ("Unauthorized", "Unauthorized"),
            403 => ("Forbidden", "pods is forbidden: User \"test\" cannot list resource \"pods\""),
            404 => ("NotFound", "the server could not find the requested resource"),
            410 => ("Expired", "too old resource version"),
            422 => ("Invalid", "the server rejected our request due to an error in our request"),
            429 => ("TooManyRequests", "the server has received too many requests"),
            500 => ("InternalError", "an error on the server has prevented the request from succeeding"),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
            504 => ("Timeout", "the server was unable to return a response in the time allotted"),
            _ => ("", "an unknown error"),
        };
        Self { code, reason: reason.to_owned(), message: message.to_owned(), cause: String::new() }
    }

    /// The refusal of a resource version that is newer than the server's.
    #[must_use]
    pub fn too_large(requested: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        Self { message, cause: "ResourceVersionTooLarge".to_owned(), ..Self::of(504) }
    }

    /// The same status with another reason.
    #[must_use]
    pub fn with_reason(self, reason: &str) -> Self {
        Self { reason: reason.to_owned(), ..self }
    }

    /// The same status with another message.
    #[must_use]
    pub fn with_message(self, message: &str) -> Self {
        Self { message: message.to_owned(), ..self }
    }

    /// The status as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let details = (!self.cause.is_empty())
            .then(|| json!({"causes": [{"reason": self.cause, "message": self.message}]}));
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code, "details": details,
        })
    }
}
