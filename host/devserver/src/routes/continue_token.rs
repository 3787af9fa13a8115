//! The token with which a client requests the next page of a list.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{
    status::{ApiError, ApiResult},
    storage::ObjectKey,
};

/// The place at which a paged list continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// The version of the list. `None` continues with the current objects, inconsistent with earlier pages.
    pub(crate) rv: Option<u64>,
    /// The last object of the page before.
    pub(crate) after: ObjectKey,
}

// === impl ContinueToken ===

impl ContinueToken {
    /// A text that is opaque to clients and safe in a URL.
    pub(crate) fn encode(&self) -> String {
        let rv = self.rv.map_or_else(|| "any".to_owned(), |rv| rv.to_string());
        BASE64_URL_SAFE_NO_PAD.encode(format!("{rv}/{}/{}", self.after.namespace, self.after.name))
    }

    /// # Errors
    /// 400 for a text that does not come from [`encode`](Self::encode).
    pub(crate) fn decode(token: &str) -> ApiResult<Self> {
        Self::read(token).ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: it was not issued by this server")
        })
    }

    fn read(token: &str) -> Option<Self> {
        let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let (rv, place) = text.split_once('/')?;
        let rv = if rv == "any" { None } else { Some(rv.parse().ok()?) };
        let (namespace, name) = place.split_once('/')?;
        Some(Self { rv, after: ObjectKey::new(namespace, name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_the_round_trip() {
        for rv in [Some(12), None] {
            let token = ContinueToken { rv, after: ObjectKey::new("shop", "wéb") };
            assert_eq!(ContinueToken::decode(&token.encode()).unwrap(), token);
        }
    }

    #[test]
    fn a_forged_token_is_refused() {
        for bad in ["", "1", "1.6", "MQ", "eC9hL2I", "MS9h", "MS//Yg", "MS9hL2I="] {
            assert!(ContinueToken::decode(bad).is_err(), "{bad}");
        }
    }
}
