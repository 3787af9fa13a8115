//! The `Status` that an API server sends with an error.

use serde::{Deserialize, Deserializer};

/// `meta/v1 Status`. A field that is missing or `null` has its default value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ApiStatus {
    #[serde(deserialize_with = "or_default")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) message: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) reason: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) code: u16,
    #[serde(deserialize_with = "or_default")]
    pub(crate) details: Details,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Details {
    #[serde(deserialize_with = "or_default")]
    causes: Vec<StatusCause>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) retry_after_seconds: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct StatusCause {
    #[serde(deserialize_with = "or_default")]
    reason: String,
    #[serde(deserialize_with = "or_default")]
    message: String,
}

// === impl ApiStatus ===

impl ApiStatus {
    /// Returns `None` if the text is not a `Status`.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok().filter(|status: &Self| status.kind == "Status")
    }

    /// Returns true if the requested resource version is no longer in the server's history (R-8).
    pub(crate) fn is_expired(&self) -> bool {
        matches!(self.reason.as_str(), "Expired" | "Gone") || self.code == 410
    }

    /// Returns true for the reason `Expired` alone. The fallback to a list without pages needs this reason; a 410 of
    /// another kind is not enough (R-13).
    pub(crate) fn has_reason_expired(&self) -> bool {
        self.reason == "Expired"
    }

    /// Returns true if the server has not reached the requested resource version yet (R-9). Servers report it in three
    /// forms; the oldest is checked last.
    pub(crate) fn is_too_large_resource_version(&self) -> bool {
        const TEXT: &str = "Too large resource version";
        let mut causes = self.details.causes.iter();
        causes.clone().any(|cause| cause.reason == "ResourceVersionTooLarge")
            || self.reason == "Timeout"
                && (causes.any(|cause| cause.message == TEXT) || self.message.contains(TEXT))
    }

    pub(crate) fn is_too_many_requests(&self) -> bool {
        self.code == 429 || self.reason == "TooManyRequests"
    }

    /// Returns true if the server's watch cache for the resource is not filled yet: after a start of the server, or
    /// after its connection to etcd broke. The only sign of it is the message of the 429 (kube-apiserver,
    /// `pkg/storage/cacher`).
    pub(crate) fn is_initializing(&self) -> bool {
        self.is_too_many_requests() && self.message.contains("storage is (re)initializing")
    }

    /// Returns true for an internal error of the server (R-22, R-23).
    pub(crate) fn is_internal_error(&self) -> bool {
        self.reason == "InternalError" || (self.reason.is_empty() && self.code == 500)
    }
}

/// Go writes `null` for an empty value.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    source: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(source)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> ApiStatus {
        ApiStatus::parse(text.as_bytes()).unwrap()
    }

    /// Scenario 25: the error "too large resource version" is recognised in all three forms (R-9).
    #[test]
    fn a_too_large_resource_version_is_recognised_in_all_three_wire_forms() {
        for text in [
            r#"{"kind":"Status","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#,
            r#"{"kind":"Status","reason":"Timeout","details":{"causes":[{"message":"Too large resource version"}]}}"#,
            r#"{"kind":"Status","reason":"Timeout","message":"Too large resource version: 5, current: 3"}"#,
        ] {
            assert!(status(text).is_too_large_resource_version(), "{text}");
        }
        assert!(
            !status(r#"{"kind":"Status","reason":"Timeout","details":null}"#).is_too_large_resource_version()
        );
    }

    /// A resource version has expired if the reason is `Expired` or `Gone`, or the code is 410 (R-8).
    #[test]
    fn expiry_is_recognised_by_the_reason_or_by_the_code_410() {
        assert!(status(r#"{"kind":"Status","reason":"Expired","code":410}"#).is_expired());
        assert!(status(r#"{"kind":"Status","reason":"Gone"}"#).is_expired());
        assert!(status(r#"{"kind":"Status","code":410,"reason":null}"#).is_expired());
        assert!(!status(r#"{"kind":"Status","code":404,"reason":"NotFound"}"#).is_expired());
    }

    #[test]
    fn a_429_of_a_watch_cache_that_is_not_filled_yet_is_not_an_overload() {
        let initializing = r#"{"kind":"Status","reason":"TooManyRequests","code":429,"message":"storage is (re)initializing"}"#;
        assert!(status(initializing).is_initializing());
        assert!(!status(&initializing.replace("429", "500").replace("TooMany", "No")).is_initializing());
        assert!(!status(r#"{"kind":"Status","code":429,"message":"too many requests"}"#).is_initializing());
    }

    #[test]
    fn a_text_that_is_not_a_status_is_not_parsed_as_one() {
        for text in ["", "<html>", "{}", r#"{"kind":"Pod"}"#, r#"{"kind":"Status","code":"x"}"#] {
            assert!(ApiStatus::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
