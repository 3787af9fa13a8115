//! JSON texts from and to the host.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// Parses a JSON text. `what` names the value in the error.
pub(crate) fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|source| Error::Decode { what: what.to_owned(), source })
}

/// The JSON text of an object.
pub(crate) fn encode(object: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(object).map_err(|source| Error::Decode { what: "the object".to_owned(), source })
}
