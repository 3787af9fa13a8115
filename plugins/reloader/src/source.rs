//! ConfigMaps and Secrets in the cache of the host, and the hash of their data.

use std::{collections::BTreeMap, fmt::Write};

use informer_sdk::{
    Error, ErrorCode, ObjectKey,
    client::{self, ApiCode},
    lister::{self, Selector},
    log,
};
use serde::de::IgnoredAny;
use sha1::{Digest, Sha1};

use crate::{
    decision::Annotations,
    kind::{SourceId, SourceKind},
    settings::Names,
};

/// The hash of no data. It marks a source that was deleted.
pub(crate) const NOTHING: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

/// What the host shows in place of a digest or an annotation that is not granted.
const MASK: &str = "***";

/// A source in the cache.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) annotations: Annotations,
    pub(crate) labels: BTreeMap<String, String>,
    /// The hashes of `data` and `binaryData`; [`NOTHING`] if they are absent.
    hashes: [String; 2],
}

type Values = BTreeMap<String, String>;

/// The state of a source in the cache.
#[derive(Debug)]
pub(crate) enum Lookup {
    Found(Source),
    Absent,
    /// The host does not watch sources of this kind, or does not grant them.
    NotServed,
}

/// The host masks a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the host masks its data or its annotations: write `digest *` in `secrets` under [plugin.grant], or `*` if `annotations` under [plugin.config] has other names for `match` and `ignore`"
)]
pub(crate) struct Masked;

/// Reads a source from the cache, with its annotations of these names.
pub(crate) fn look_up(id: &SourceId, namespace: &str, names: &Names) -> Result<Lookup, Error> {
    let [ignore, matched] = [&names.ignore, &names.matched].map(|name| annotation(name));
    let [of_data, of_binary] = digests(id.kind);
    let pointers = [&ignore, &matched, "/metadata/labels", of_data, of_binary];
    let key = ObjectKey::new(namespace, &id.name);
    let [ignore, matched, labels, data, binary] = match lister::get_fields(id.kind.gvr(), &key, pointers) {
        Ok(Some(fields)) => fields,
        Ok(None) => return Ok(Lookup::Absent),
        Err(error) if is_not_served(&error) => return Ok(Lookup::NotServed),
        Err(error) => return Err(error),
    };
    let annotations = [(&names.ignore, ignore), (&names.matched, matched)];
    // An annotation that is no text counts as none.
    let annotations =
        annotations.into_iter().filter_map(|(name, value)| Some((name.clone(), value.parse().ok()??)));
    let hashes = [data.parse::<String>()?, binary.parse()?];
    Ok(Lookup::Found(Source {
        annotations: annotations.collect(),
        labels: labels.parse::<Option<_>>()?.flatten().unwrap_or_default(),
        hashes: hashes.map(|hash| hash.unwrap_or_else(|| NOTHING.to_owned())),
    }))
}

impl Source {
    /// Returns true if the host masks an annotation that decides whether the source rolls a workload.
    pub(crate) fn has_masked_annotation(&self) -> bool {
        self.annotations.values().any(|value| value == MASK)
    }

    /// The hash of its data.
    pub(crate) fn hash(self, id: &SourceId, namespace: &str) -> Result<Result<String, Masked>, Error> {
        if self.hashes.iter().any(|hash| hash == MASK) {
            return Ok(Err(Masked));
        }
        let [data, binary] = self.hashes;
        Ok(Ok(match (data, binary) {
            (data, binary) if binary == NOTHING => data,
            (data, binary) if data == NOTHING => binary,
            (data, _) => hash_of_both(id, namespace)?.unwrap_or(data),
        }))
    }
}

/// The hash of `data` and `binaryData` together. The host keeps objects that have both as a whole. Returns `None` if the source
/// is gone.
fn hash_of_both(id: &SourceId, namespace: &str) -> Result<Option<String>, Error> {
    let key = ObjectKey::new(namespace, &id.name);
    let Some([data, binary]) = lister::get_fields(id.kind.gvr(), &key, ["/data", "/binaryData"])? else {
        return Ok(None);
    };
    let values = [data.parse::<Option<Values>>()?, binary.parse()?];
    Ok(Some(hash(values.into_iter().flatten().flatten().flatten())))
}

/// The pointer to an annotation.
pub(crate) fn annotation(name: &str) -> String {
    format!("/metadata/annotations/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The names of all sources of this kind in a namespace.
pub(crate) fn names(kind: SourceKind, namespace: &str) -> Result<Vec<String>, Error> {
    let all = Selector::all().namespace(namespace);
    let listed: Result<Vec<_>, Error> =
        lister::list_meta(kind.gvr(), &all).map(|meta| Ok(meta?.name)).collect();
    match listed {
        Err(error) if is_not_served(&error) => Ok(Vec::new()),
        listed => listed,
    }
}

/// Returns true if the API server has no such source. A cache may lack objects because its watch was narrowed. If the plugin may
/// not request the source, the result is false, so that the other sources of the workload still roll it: the grant `digest *`
/// allows no request for a Secret.
pub(crate) fn is_deleted(id: &SourceId, namespace: &str) -> Result<bool, Error> {
    match client::get::<IgnoredAny>(id.kind.gvr(), &ObjectKey::new(namespace, &id.name)) {
        Ok(_) => Ok(false),
        Err(error) if error.api_code() == Some(ApiCode::NotFound) => Ok(true),
        Err(error) if matches!(error.api_code(), Some(ApiCode::NotGranted | ApiCode::Forbidden)) => {
            log::warn!("{id} of {namespace} is not in the cache, and counts as not deleted: {error}");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Returns true if the resource is not watched or not granted.
pub(crate) fn is_not_served(error: &Error) -> bool {
    matches!(error.code(), Some(ErrorCode::UnknownResource | ErrorCode::NotGranted))
}

/// The digests of `data` and `binaryData` in the form of the original. The original hashes the decoded values of Secrets, and the
/// base64 texts of `binaryData` of ConfigMaps.
pub(crate) fn digests(kind: SourceKind) -> [&'static str; 2] {
    match kind {
        SourceKind::ConfigMap => ["sha1-pairs:/data", "sha1-pairs:/binaryData"],
        SourceKind::Secret => ["sha1-base64-pairs:/data", "sha1-pairs:/binaryData"],
    }
}

/// The hash of `data` and `binaryData` together: SHA-1 of the sorted `key=value` joined by `;`.
fn hash(values: impl Iterator<Item = (String, String)>) -> String {
    let mut lines: Vec<String> = values.map(|(key, value)| format!("{key}={value}")).collect();
    lines.sort_unstable();
    sha1(lines.join(";").as_bytes())
}

/// The SHA-1 in hexadecimal digits.
pub(crate) fn sha1(bytes: &[u8]) -> String {
    Sha1::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_both_fields_is_that_of_the_original() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        // `printf 'a=AQI=;b=2' | sha1sum`
        let both = hash([pair("b", "2"), pair("a", "AQI=")].into_iter());
        assert_eq!(both, "48f14513e1d9a7b8fd1cfecfb1b5eda862a0c103");
        assert_eq!(hash(std::iter::empty()), NOTHING);
    }

    #[test]
    fn a_masked_digest_is_no_hash() {
        let id = SourceId::new(SourceKind::Secret, "app");
        let source = |data: &str| Source {
            annotations: Annotations::default(),
            labels: BTreeMap::new(),
            hashes: [data.to_owned(), NOTHING.to_owned()],
        };
        assert_eq!(source(MASK).hash(&id, "shop").unwrap(), Err(Masked));
        assert_eq!(source("86").hash(&id, "shop").unwrap(), Ok("86".to_owned()));
    }
}
