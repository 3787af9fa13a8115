//! ConfigMaps and Secrets in the cache of the host, and the hash of their data.

use std::{collections::BTreeMap, fmt::Write};

use base64::{Engine, prelude::BASE64_STANDARD};
use informer_sdk::{
    Error, ErrorCode, ObjectKey,
    client::{self, ApiCode},
    lister::{self, Selector},
};
use serde::{Deserialize, de::IgnoredAny};
use sha1::{Digest, Sha1};

use crate::{
    decision::Annotations,
    hashes,
    kind::{SourceId, SourceKind},
    settings::Names,
};

/// The hash of no data. It marks a source that was deleted.
pub(crate) const NOTHING: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

/// A source in the cache.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) annotations: Annotations,
    pub(crate) labels: BTreeMap<String, String>,
    version: String,
    /// The digests of `data` and `binaryData`; empty if they are absent.
    digests: [String; 2],
}

/// The data of a source as the API server has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Live {
    metadata: Metadata,
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
    #[serde(default)]
    binary_data: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    resource_version: String,
}

/// The state of a source in the cache.
#[derive(Debug)]
pub(crate) enum Lookup {
    Found(Source),
    Absent,
    /// The host does not watch sources of this kind, or does not grant them.
    NotServed,
}

/// The data of a Secret cannot be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its values are not base64: if they are masked, name the Secret in `secrets` under [plugin.grant]")]
pub(crate) struct Unreadable;

/// Reads a source from the cache, with its annotations of these names.
pub(crate) fn look_up(id: &SourceId, namespace: &str, names: &Names) -> Result<Lookup, Error> {
    let [ignore, matched] = [&names.ignore, &names.matched].map(|name| annotation(name));
    let pointers = [
        ignore.as_str(),
        matched.as_str(),
        "/metadata/labels",
        "/metadata/resourceVersion",
        "sha256:/data",
        "sha256:/binaryData",
    ];
    let key = ObjectKey::new(namespace, &id.name);
    let [ignore, matched, labels, version, data, binary] =
        match lister::get_fields(id.kind.gvr(), &key, pointers) {
            Ok(Some(fields)) => fields,
            Ok(None) => return Ok(Lookup::Absent),
            Err(error) if is_not_served(&error) => return Ok(Lookup::NotServed),
            Err(error) => return Err(error),
        };
    let annotations = [(&names.ignore, ignore), (&names.matched, matched)];
    // An annotation that is no text counts as none.
    let annotations =
        annotations.into_iter().filter_map(|(name, value)| Some((name.clone(), value.parse().ok()??)));
    Ok(Lookup::Found(Source {
        annotations: annotations.collect(),
        labels: labels.parse::<Option<_>>()?.flatten().unwrap_or_default(),
        version: version.parse::<String>()?.unwrap_or_default(),
        digests: [data.parse()?.unwrap_or_default(), binary.parse()?.unwrap_or_default()],
    }))
}

impl Source {
    /// The hash of its data. Data that was not hashed before is read from the API server. Returns `None` if the source is gone there;
    /// its deletion follows.
    pub(crate) fn hash(
        &self,
        id: &SourceId,
        namespace: &str,
    ) -> Result<Option<Result<String, Unreadable>>, Error> {
        if self.digests.iter().all(String::is_empty) {
            return Ok(Some(Ok(NOTHING.to_owned())));
        }
        if let Some(kept) = hashes::kept(id, namespace, &self.digests) {
            return Ok(Some(kept.ok_or(Unreadable)));
        }
        let live: Live = match client::get(id.kind.gvr(), &ObjectKey::new(namespace, &id.name)) {
            Ok(live) => live,
            Err(error) if error.api_code() == Some(ApiCode::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (data, binary) = (live.data.unwrap_or_default(), live.binary_data.unwrap_or_default());
        let hash = hash(id.kind, &data, &binary);
        // Newer data does not have the digests of the cache.
        if live.metadata.resource_version == self.version {
            hashes::keep(id, namespace, &self.digests, hash.as_deref().ok());
        }
        Ok(Some(hash))
    }
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

/// Returns true if the API server has no such source. A cache may lack objects because its watch was narrowed.
pub(crate) fn is_deleted(id: &SourceId, namespace: &str) -> Result<bool, Error> {
    match client::get::<IgnoredAny>(id.kind.gvr(), &ObjectKey::new(namespace, &id.name)) {
        Ok(_) => Ok(false),
        Err(error) if error.api_code() == Some(ApiCode::NotFound) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns true if the resource is not watched or not granted.
pub(crate) fn is_not_served(error: &Error) -> bool {
    matches!(error.code(), Some(ErrorCode::UnknownResource | ErrorCode::NotGranted))
}

/// The hash of the original: SHA-1 of the sorted `key=value` joined by `;`. Values of Secrets are decoded, and values of `binaryData`
/// are not.
fn hash(
    kind: SourceKind,
    data: &BTreeMap<String, String>,
    binary: &BTreeMap<String, String>,
) -> Result<String, Unreadable> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for (key, value) in data.iter().chain(binary) {
        let value = match kind {
            SourceKind::ConfigMap => value.clone().into_bytes(),
            SourceKind::Secret => BASE64_STANDARD.decode(value).map_err(|_| Unreadable)?,
        };
        lines.push([key.as_bytes(), b"=", &value].concat());
    }
    lines.sort_unstable();
    Ok(sha1(&lines.join(&b';')))
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

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_hash_is_that_of_the_original() {
        let none = map(&[]);
        let hash = |kind, data: &[(&str, &str)], binary: &[(&str, &str)]| {
            hash(kind, &map(data), &map(binary)).unwrap()
        };
        // `printf 'a=1;b=2' | sha1sum`, and so on.
        assert_eq!(
            hash(SourceKind::ConfigMap, &[("b", "2"), ("a", "1")], &[]),
            sha1(b"a=1;b=2"),
            "keys are sorted"
        );
        assert_eq!(hash(SourceKind::ConfigMap, &[("b", "2")], &[("a", "AQI=")]), sha1(b"a=AQI=;b=2"));
        assert_eq!(hash(SourceKind::Secret, &[("a", "MQ==")], &[]), sha1(b"a=1"), "Secrets are decoded");
        assert_eq!(sha1(b"a=1"), "86eda770a6060824b090dd4df091e3bd4121279c");
        assert_eq!(super::hash(SourceKind::ConfigMap, &none, &none).unwrap(), NOTHING);
    }

    #[test]
    fn a_masked_secret_has_no_hash() {
        let masked = hash(SourceKind::Secret, &map(&[("password", "***")]), &map(&[]));
        assert_eq!(masked, Err(Unreadable));
        assert!(Unreadable.to_string().contains("`secrets` under [plugin.grant]"));
    }
}
