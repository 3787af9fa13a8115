//! An object as the plugin found it, in the cache of the host or on the API server.
//!
//! The host may keep only parts of an object (`reads` and `whole-if` in `informer.toml`). Such an object looks like one without
//! content, or has a digest in place of its content, and `lister::get` returns it without an error. So each object carries its
//! [`Extent`].

use informer_sdk::{
    Error, ErrorCode, ObjectKey,
    client::{self, ApiCode},
    lister, log,
};
use serde_json::Value;

use crate::{cache, kind::Kind};

/// The JSON pointer of a whole object. The host refuses to read it if the cache has only parts of the object.
const WHOLE: &str = "";

/// How much of an object the plugin found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Some fields of it. The API server may have more.
    Parts,
    /// All fields that the watch keeps. The API server may have more, and a newer state.
    Cached,
    /// The object as the API server has it.
    Live,
}

/// An object, and how much of it the plugin found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// The object, or `null` if it does not exist.
    pub(crate) object: Value,
    pub(crate) extent: Extent,
}

// === impl Found ===

impl Found {
    /// Reads an object from the cache. Returns `None` if the plugin may not see the object, or its values.
    pub(crate) fn in_cache(kind: &Kind, key: &ObjectKey) -> Result<Option<Self>, Error> {
        match cached(kind, key) {
            Ok(found) => Ok(found.visible(kind, key)),
            Err(error) if error.code() == Some(ErrorCode::NotGranted) => {
                log::info!("{} {key} is left alone: {error}", kind.gvr);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads an object from the API server. Returns `None` if the plugin may not see the object, or its values.
    pub(crate) fn on_server(kind: &Kind, key: &ObjectKey) -> Result<Option<Self>, Error> {
        let object = match client::get::<Value>(kind.gvr, key) {
            Ok(object) => object,
            Err(error) => match error.api_code() {
                Some(ApiCode::NotFound) => Value::Null,
                Some(ApiCode::NotGranted) => {
                    log::warn!("{} {key} is left alone: {error}", kind.gvr);
                    return Ok(None);
                }
                _ => return Err(error),
            },
        };
        Ok(Self { object, extent: Extent::Live }.visible(kind, key))
    }

    pub(crate) fn exists(&self) -> bool {
        !self.object.is_null()
    }

    pub(crate) fn is_being_deleted(&self) -> bool {
        self.object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
    }

    /// Returns `None` if the values are masked.
    fn visible(self, kind: &Kind, key: &ObjectKey) -> Option<Self> {
        if cache::is_masked(kind, &self.object) {
            log::warn!("{} {key} is left alone: `secrets` of [plugin.grant] does not name it", kind.gvr);
            return None;
        }
        Some(self)
    }
}

fn cached(kind: &Kind, key: &ObjectKey) -> Result<Found, Error> {
    match lister::get_fields(kind.gvr, key, [WHOLE]) {
        Ok(fields) => {
            let whole = fields.map(|[whole]| whole.parse::<Value>()).transpose()?;
            Ok(Found { object: whole.flatten().unwrap_or_default(), extent: Extent::Cached })
        }
        Err(error) if error.code() == Some(ErrorCode::Invalid) => {
            let object = lister::get::<Value>(kind.gvr, key)?;
            Ok(Found { object: object.unwrap_or_default(), extent: Extent::Parts })
        }
        Err(error) => Err(error),
    }
}
