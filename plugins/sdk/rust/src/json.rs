//! JSON texts from and to the host.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// Parses a JSON text. `what` names the value in the error.
pub(crate) fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|source| Error::Decode { what: what.to_owned(), source })
}

/// Parses a JSON text that may not be UTF-8. `what` names the value in the error.
pub(crate) fn parse_bytes<T: DeserializeOwned>(what: &str, text: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|source| Error::Decode { what: what.to_owned(), source })
}

/// The JSON text of a value. `what` names the value in the error.
pub(crate) fn encode(what: &str, value: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|source| Error::Decode { what: what.to_owned(), source })
}
