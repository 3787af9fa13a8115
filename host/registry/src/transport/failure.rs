//! The text of an error of a registry, or of the connection to it.

use reqwest::Response;

use crate::RegistryError;

/// The most bytes read of an error.
const ERROR_BYTES: usize = 8 << 10;

/// The first bytes of a body, as text.
pub(super) async fn read_error(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < ERROR_BYTES
        && let Ok(Some(piece)) = response.chunk().await
    {
        bytes.extend_from_slice(&piece);
    }
    bytes.truncate(ERROR_BYTES);
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    message(&text).unwrap_or(if text.is_empty() { "it says nothing more".to_owned() } else { text })
}

/// The messages of an error in the form of the specification.
fn message(text: &str) -> Option<String> {
    let errors: serde_json::Value = serde_json::from_str(text).ok()?;
    let errors = errors.get("errors")?.as_array()?.iter();
    let message = |error: &serde_json::Value| {
        let text = |key| error.get(key).and_then(serde_json::Value::as_str).filter(|text| !text.is_empty());
        Some(text("message").or_else(|| text("code"))?.to_owned())
    };
    let messages: Vec<String> = errors.filter_map(message).collect();
    (!messages.is_empty()).then(|| messages.join(", "))
}

/// What a connection without an answer says: the last cause says most.
pub(crate) fn unreachable(registry: &str, error: &reqwest::Error) -> RegistryError {
    let mut texts = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        texts.push(error.to_string());
        cause = error.source();
    }
    // The first text repeats the URL, which may hold a query with a signature.
    let why = if texts.len() > 1 { texts.split_off(1).join(": ") } else { describe(error).to_owned() };
    // What a server without TLS answers is no message of TLS.
    let without_tls = why.contains("InvalidContentType");
    let remedy = if without_tls {
        "; it talks http: if that is meant, write `insecure = true` in its [[registry]]"
    } else {
        ""
    };
    RegistryError::Unreachable { registry: registry.to_owned(), why: format!("{why}{remedy}") }
}

fn describe(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "it takes too long"
    } else if error.is_connect() {
        "there is no connection"
    } else if error.is_redirect() {
        "it redirects to a place that is not followed"
    } else {
        "the connection broke"
    }
}
