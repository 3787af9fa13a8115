//! The hashes of sources by the digests of their data, in the key-value state.
//!
//! The host keeps a digest of the data of a ConfigMap or Secret, and the hash of the original needs the data itself. So the data is read
//! from the API server once for each change of a chosen source, and its hash is kept with the digests that it belongs to.

use informer_sdk::{ObjectKey, log};
use serde::{Deserialize, Serialize};

use crate::{
    kind::{SourceId, SourceKind},
    store::{self, Unavailable},
};

/// What is kept of a source.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    digests: [String; 2],
    /// `None` if the data was masked.
    hash: Option<String>,
}

/// Returns the hash that was kept for data with these digests: `Some(None)` if the data was masked. If the state cannot be read, the
/// data is read once more.
pub(crate) fn kept(id: &SourceId, namespace: &str, digests: &[String; 2]) -> Option<Option<String>> {
    let kept = store::get(&key(id, namespace)).unwrap_or_else(|unavailable| {
        log::warn!("{id}: {unavailable}");
        None
    });
    let kept: Kept = serde_json::from_slice(&kept?).ok()?;
    (kept.digests == *digests).then_some(kept.hash)
}

/// Keeps the hash of data with these digests. If the state cannot be written, the data is read once more the next time.
pub(crate) fn keep(id: &SourceId, namespace: &str, digests: &[String; 2], hash: Option<&str>) {
    let kept = Kept { digests: digests.clone(), hash: hash.map(str::to_owned) };
    let written = store::set(&key(id, namespace), &serde_json::to_vec(&kept).unwrap_or_default());
    if let Err(unavailable) = written {
        log::warn!("{id}: {unavailable}");
    }
}

/// Forgets a source that is gone.
pub(crate) fn forget(id: &SourceId, namespace: &str) -> Result<(), Unavailable> {
    let key = key(id, namespace);
    if store::get(&key)?.is_some() { store::delete(&key) } else { Ok(()) }
}

fn key(id: &SourceId, namespace: &str) -> String {
    format!("{} {namespace}/{}", id.kind.gvr(), id.name)
}

/// The resource and the object of a key of this module. Returns `None` for another key.
pub(crate) fn source(key: &str) -> Option<(&'static str, ObjectKey)> {
    let (gvr, object) = key.split_once(' ')?;
    let gvr = SourceKind::ALL.into_iter().map(SourceKind::gvr).find(|known| *known == gvr)?;
    let (namespace, name) = object.split_once('/')?;
    Some((gvr, ObjectKey::new(namespace, name)))
}
