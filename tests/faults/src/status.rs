//! The `Status` an API server answers with where it has nothing better.

use serde_json::{Value, json};

/// `meta/v1 Status` of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The HTTP code, also where it comes inside a stream.
    pub code: u16,
    /// The machine-readable reason; empty: unknown.
    pub reason: String,
    /// The text for people.
    pub message: String,
    /// The type of the one cause in the details; empty: none.
    pub cause: String,
}

// === impl Status ===

impl Status {
    /// The status kube-apiserver sends with this code, its usual reason included; a code without one has an
    /// empty reason.
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

    /// The resource version asked for is in the server's future.
    #[must_use]
    pub fn too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self { message, cause: "ResourceVersionTooLarge".to_owned(), ..Self::of(504) }
    }

    /// With another reason.
    #[must_use]
    pub fn with_reason(self, reason: &str) -> Self {
        Self { reason: reason.to_owned(), ..self }
    }

    /// With another text.
    #[must_use]
    pub fn with_message(self, message: &str) -> Self {
        Self { message: message.to_owned(), ..self }
    }

    /// The way it goes over the wire.
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
