//! The bodies of answers, read up to a bound.

use reqwest::Response;

use super::Wanted;
use crate::{Digest, RegistryError, digest::Hasher};

/// The most bytes read of an error.
const ERROR_BYTES: usize = 8 << 10;

/// The most bytes that are allocated because an answer announces them.
const ANNOUNCED_BYTES: u64 = 1 << 20;

/// The body of an answer.
pub(super) struct Body<'a> {
    response: Response,
    wanted: &'a Wanted<'a>,
}

// === impl Body ===

impl<'a> Body<'a> {
    pub(super) fn new(response: Response, wanted: &'a Wanted<'a>) -> Self {
        Self { response, wanted }
    }

    /// Reads the whole body, and computes its digest meanwhile.
    pub(super) async fn read(
        mut self,
        limit: u64,
        remedy: &'static str,
    ) -> Result<(Vec<u8>, Digest), RegistryError> {
        let too_large = || RegistryError::TooLarge { what: self.wanted.what.clone(), limit, remedy };
        let announced = self.response.content_length().unwrap_or_default();
        if announced > limit {
            return Err(too_large());
        }
        let capacity = usize::try_from(announced.min(ANNOUNCED_BYTES)).unwrap_or_default();
        let (mut bytes, mut hasher) = (Vec::with_capacity(capacity), Hasher::default());
        loop {
            let piece = self
                .response
                .chunk()
                .await
                .map_err(|error| unreachable(self.wanted.reference.registry(), &error))?;
            let Some(piece) = piece else { return Ok((bytes, hasher.finish())) };
            if bytes.len() as u64 + piece.len() as u64 > limit {
                return Err(too_large());
            }
            hasher.update(&piece);
            bytes.extend_from_slice(&piece);
        }
    }
}

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
pub(super) fn unreachable(registry: &str, error: &reqwest::Error) -> RegistryError {
    let mut texts = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        texts.push(error.to_string());
        cause = error.source();
    }
    // The first text repeats the URL, which may hold a query with a signature.
    let why = if texts.len() > 1 { texts.split_off(1).join(": ") } else { describe(error).to_owned() };
    RegistryError::Unreachable { registry: registry.to_owned(), why }
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
