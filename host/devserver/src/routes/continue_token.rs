//! The token that leads from one page of a list to the next.

use std::fmt::Write;

use crate::{
    status::{ApiError, ApiResult},
    storage::ObjectKey,
};

/// Where a paged list goes on: after which object, in the state of which version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// `None` goes on in whatever state there is, without consistency.
    pub(crate) rv: Option<u64>,
    pub(crate) after: ObjectKey,
}

// === impl ContinueToken ===

impl ContinueToken {
    /// Opaque to clients, and safe in a URL.
    pub(crate) fn encode(&self) -> String {
        let place = format!("{}/{}", self.after.namespace, self.after.name);
        let mut token = self.rv.map_or_else(|| "any".to_owned(), |rv| rv.to_string());
        token.push('.');
        for byte in place.bytes() {
            // Writing into a String cannot fail.
            let _ = write!(token, "{byte:02x}");
        }
        token
    }

    /// # Errors
    /// 400 for what [`encode`](Self::encode) never made.
    pub(crate) fn decode(token: &str) -> ApiResult<Self> {
        Self::read(token).ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: it was not issued by this server")
        })
    }

    fn read(token: &str) -> Option<Self> {
        let (rv, place) = token.split_once('.')?;
        let rv = if rv == "any" { None } else { Some(rv.parse().ok()?) };
        let digits: Vec<u32> = place.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
        let bytes = digits.chunks(2).map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        });
        let place = String::from_utf8(bytes.collect::<Option<_>>()?).ok()?;
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
        for bad in ["", "1", "1.zz", "1.6", "x.612f62", "1.61", "1.ff2f"] {
            assert!(ContinueToken::decode(bad).is_err(), "{bad}");
        }
    }
}
