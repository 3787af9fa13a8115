//! Turns one JSON text into one [`Object`]: the text is validated, its header is parsed, and its body is kept as text.
//!
//! No object tree is built. Errors are distinguished by what the reflector does about them: an object of another type
//! is skipped (R-26), an object with unreadable metadata is quarantined by its key (D-2), and a text that is not JSON
//! ends the list or the watch (A-11).

mod event;
mod header;
mod keep;
mod list;
mod namespaces;
mod scan;
mod splice;

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

use informer_types::{Body, Condition, Object, ObjectKey, Pointer, locate};
use parking_lot::Mutex;
use serde::de::IgnoredAny;

pub(crate) use event::{EventError, WatchEvent};
pub(crate) use list::{ListDecoder, ListPage};
pub(crate) use namespaces::NamespaceNames;

use crate::{
    Compression, WatchConfig,
    ceiling::Ceiling,
    compress::Packer,
    config::MANAGED_FIELDS,
    indexer::{Indexer, is_unchanged},
};
use header::{KeyText, ObjectText};
use keep::Keep;
use splice::{Edit, splice};

/// The apiVersion and kind of an object of which only the metadata was requested (A-10).
const PARTIAL: [&str; 2] = ["meta.k8s.io/v1", "PartialObjectMetadata"];

/// The scratch buffer shrinks to this size after a larger object.
const KEPT_SCRATCH: usize = 64 << 10;

/// Decodes the objects of one informer and removes the fields that the watch does not keep.
pub(crate) struct Decoder {
    api_version: String,
    kind: String,
    /// The members `kind` and `apiVersion` with a comma after each, as they stand in the text of an object.
    type_members: String,
    /// The length of the member `kind` in `type_members`, with its comma.
    kind_member: usize,
    drop_managed_fields: bool,
    drop: Vec<Pointer>,
    /// `None` keeps all fields.
    keep: Option<Keep>,
    /// An object that meets one of these is kept whole.
    whole_if: Vec<Condition>,
    metadata_only: bool,
    namespaces: NamespaceNames,
    /// Compresses objects. If `compresses` is false, the packer gets no objects until memory becomes tight.
    packer: Arc<Packer>,
    compresses: bool,
    ceiling: Ceiling,
    /// True once memory was tight and the objects of the cache were compressed. From then on, every new object is compressed as it
    /// grows old: memory may become tight again, and the whole cache is compressed only once.
    squeezed: AtomicBool,
    /// The cache whose objects a list shares if they are unchanged. `None` means that lists share nothing.
    cached: Option<Arc<Indexer>>,
    /// A buffer for assembling texts.
    scratch: Mutex<String>,
    max_object_bytes: usize,
}

/// Why a text gave no object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undecodable {
    #[error("an object is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// The object has another type, is a table, or has no metadata (R-26, R-27).
    #[error("{0}")]
    Foreign(String),
    /// The object's metadata cannot be read (D-2). `key` is `None` if not even the key is readable.
    #[error("{problem}")]
    Quarantined { key: Option<ObjectKey>, resource_version: String, problem: ObjectProblem },
}

/// The defect of an object of the right type.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectProblem {
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("its metadata cannot be read: {0}")]
    Metadata(#[source] serde_json::Error),
    #[error("it has no name")]
    NoName,
    #[error(transparent)]
    TooLarge(#[from] informer_types::ObjectTooLarge),
    #[error(transparent)]
    Pointer(#[from] informer_types::InvalidJson),
}

// === impl Decoder ===

impl Decoder {
    pub(crate) fn new(kind: &str, watch: &WatchConfig, max_object_bytes: usize) -> Self {
        // The header's own pass finds `metadata.managedFields`; other pointers need a second pass.
        let (managed, drop): (Vec<_>, Vec<_>) =
            watch.drop.iter().cloned().partition(|pointer| pointer.to_string() == MANAGED_FIELDS);
        let api_version = watch.gvr.api_version();
        let kind_member = format!(r#""kind":"{kind}","#);
        Self {
            type_members: format!(r#"{kind_member}"apiVersion":"{api_version}","#),
            kind_member: kind_member.len(),
            api_version,
            kind: kind.to_owned(),
            drop_managed_fields: !managed.is_empty(),
            drop,
            keep: keep(watch),
            whole_if: watch.whole_if.clone(),
            metadata_only: watch.metadata_only,
            namespaces: NamespaceNames::default(),
            packer: Arc::default(),
            compresses: watch.compression == Compression::Zstd,
            ceiling: Ceiling::new(None),
            squeezed: AtomicBool::new(false),
            cached: None,
            scratch: Mutex::default(),
            max_object_bytes,
        }
    }

    /// Bounds the memory of all objects, and lets lists share the objects of this cache.
    pub(crate) fn with_cache(mut self, cached: Option<Arc<Indexer>>, ceiling: Ceiling) -> Self {
        (self.cached, self.ceiling) = (cached, ceiling);
        self
    }

    /// Decodes one object: an item of a list, which may leave `kind` and `apiVersion` to the list, or the object of a
    /// watch event.
    pub(crate) fn object(&self, bytes: &[u8]) -> Result<Arc<Object>, Undecodable> {
        let text = std::str::from_utf8(bytes).map_err(|_| not_utf8(&String::from_utf8_lossy(bytes)))?;
        self.object_of(text)
    }

    /// Decodes one object whose text is known to be UTF-8.
    fn object_of(&self, text: &str) -> Result<Arc<Object>, Undecodable> {
        let text = text.trim_ascii();
        // A parser reports half a surrogate pair, or a number beyond every type, as it reports a text that is not JSON.
        let parsed = header::parse(text, self.drop_managed_fields)
            .map_err(|error| quarantine(text, ObjectProblem::Metadata(error)))?;
        self.check_type(&parsed)?;
        let Some(metadata) = &parsed.metadata else {
            return Err(Undecodable::Foreign("an object has no metadata".to_owned()));
        };
        let missing_type = self.missing_type(&parsed);
        let keep = self.keep.as_ref().filter(|_| !self.is_whole(text, missing_type));
        let header = metadata.header(&self.namespaces, keep.is_some());
        if header.name.is_empty() {
            return Err(quarantine(text, ObjectProblem::NoName));
        }
        let body =
            self.body(text, &parsed, missing_type, keep).map_err(|problem| quarantine(text, problem))?;
        let object = Object::with_vocabulary(&header, Body::Raw(body), self.packer.vocabulary());
        let object = Arc::new(object.map_err(|error| quarantine(text, error.into()))?);
        let tight = self.ceiling.is_near();
        if self.compresses || tight || self.squeezed.load(Ordering::Relaxed) {
            self.packer.admit(&object, tight);
        }
        Ok(object)
    }

    /// Returns the cached object if it is the same state of the same object, so that a relist needs memory only for
    /// what has changed.
    pub(crate) fn shared(&self, listed: Arc<Object>) -> Arc<Object> {
        let cached = self.cached.as_ref().and_then(|cache| cache.get(listed.namespace(), listed.name()));
        cached.filter(|cached| is_unchanged(cached, &listed)).unwrap_or(listed)
    }

    /// The ceiling over all caches.
    pub(crate) fn ceiling(&self) -> Ceiling {
        self.ceiling
    }

    /// The ceiling for a list of this informer.
    pub(crate) fn list_ceiling(&self) -> Ceiling {
        let has_objects = self.cached.as_ref().is_some_and(|cache| cache.len() > 0);
        if has_objects { self.ceiling.for_relists() } else { self.ceiling }
    }

    /// Compresses every cached object, once, if memory is tight and the watch is not configured to compress its objects anyway.
    async fn squeeze(&self) {
        let Some(cached) = self.cached.as_ref().filter(|cache| !self.compresses && cache.len() > 0) else {
            return;
        };
        if self.ceiling.is_near() && !self.squeezed.swap(true, Ordering::Relaxed) {
            let (packer, cached) = (Arc::clone(&self.packer), Arc::clone(cached));
            let admit_all = move || cached.list(None).iter().for_each(|object| packer.admit(object, true));
            // If compressing panics, objects stay uncompressed, which is safe.
            let _ = tokio::task::spawn_blocking(admit_all).await;
        }
    }

    /// Compresses the objects of a list that has arrived completely, if the cache was squeezed. Objects that arrived before the squeeze
    /// were not in the cache yet, so the squeeze left them out. Another thread compresses the objects, and this function does not wait
    /// for the thread.
    pub(crate) fn listed(&self, objects: &[Arc<Object>]) {
        if self.compresses || !self.squeezed.load(Ordering::Relaxed) {
            return;
        }
        // A long list takes seconds. Objects that are gone by then are not compressed, and their memory is free.
        let objects: Vec<Weak<Object>> = objects.iter().map(Arc::downgrade).collect();
        let (packer, tight) = (Arc::clone(&self.packer), self.ceiling.is_near());
        // If it panics, objects stay uncompressed, which is safe.
        drop(tokio::task::spawn_blocking(move || {
            objects.iter().filter_map(Weak::upgrade).for_each(|object| packer.admit(&object, tight));
            packer.pack();
        }));
    }

    /// Does the work that is due besides decoding, outside the executor: trains the dictionary if there are enough samples, once
    /// in an informer's life; compresses objects that are no longer new, without waiting for the end; and compresses what the
    /// cache has if memory has become tight.
    pub(crate) async fn tend(&self) {
        self.squeeze().await;
        self.packer.learn().await;
        if let Some(packing) = self.packer.begin() {
            // It ends within milliseconds. If it panics, objects stay uncompressed, which is safe.
            drop(tokio::task::spawn_blocking(move || packing.run()));
        }
    }

    /// Accepts the type of this collection, also if the item leaves it to the list (R-17), and refuses any other (R-26,
    /// R-27).
    fn check_type(&self, parsed: &ObjectText<'_>) -> Result<(), Undecodable> {
        let fits = |found: &str, expected: &str| found.is_empty() || found == expected;
        if fits(parsed.kind(), &self.kind) && fits(parsed.api_version(), &self.api_version) {
            return Ok(());
        }
        if self.metadata_only && [parsed.api_version(), parsed.kind()] == PARTIAL {
            return Ok(());
        }
        Err(Undecodable::Foreign(format!(
            "expected {} {}, found {} {}",
            self.api_version,
            self.kind,
            parsed.api_version(),
            parsed.kind()
        )))
    }

    /// The members `kind` and `apiVersion` that an item leaves to its list. Empty if the item has both. An item without its type is a
    /// whole object, because each item of a list of metadata has its type (A-10).
    fn missing_type(&self, parsed: &ObjectText<'_>) -> &str {
        let from = if parsed.kind().is_empty() { 0 } else { self.kind_member };
        let to = if parsed.api_version().is_empty() { self.type_members.len() } else { self.kind_member };
        self.type_members.get(from..to).unwrap_or_default()
    }

    /// Returns true if the object meets a condition for objects that are kept whole. A condition sees an item of a list with the type
    /// that the item leaves to the list. A list and a watch therefore keep the same object in the same form.
    fn is_whole(&self, text: &str, missing_type: &str) -> bool {
        if self.whole_if.is_empty() {
            return false;
        }
        let mut typed = String::new();
        let text: &str = if missing_type.is_empty() {
            text
        } else {
            typed.reserve(text.len() + missing_type.len());
            splice(text, missing_type, Vec::new(), &mut typed);
            &typed
        };
        self.whole_if.iter().any(|condition| condition.holds(text))
    }

    /// The text to keep, in one allocation of its own: the type is added if the list left it out, and the dropped
    /// fields are cut out (R-14).
    fn body(
        &self,
        text: &str,
        parsed: &ObjectText<'_>,
        missing_type: &str,
        keep: Option<&Keep>,
    ) -> Result<Arc<str>, ObjectProblem> {
        let mut edits = Vec::new();
        if self.drop_managed_fields
            && let Some(range) = parsed.managed_fields(text)
        {
            edits.push(Edit::remove(range));
        }
        if !self.drop.is_empty() {
            edits.extend(locate(text, &self.drop)?.into_iter().flatten().map(Edit::remove));
        }
        if let Some(keep) = keep {
            edits.extend(keep.edits(text)?);
        }
        let mut scratch = self.scratch.lock();
        splice(text, missing_type, edits, &mut scratch);
        let body = Arc::from(scratch.as_str());
        // A buffer shrinks to its content at most.
        scratch.clear();
        scratch.shrink_to(KEPT_SCRATCH);
        Ok(body)
    }
}

/// A server may ignore the request for metadata alone and send whole objects (A-10).
fn keep(watch: &WatchConfig) -> Option<Keep> {
    match &*watch.keep {
        [] if watch.metadata_only => Some(Keep::new(&["/metadata".parse::<Pointer>().ok()?.into()])),
        [] => None,
        parts => Some(Keep::new(parts)),
    }
}

/// A text that is JSON except for some bytes that are not UTF-8 is one bad object; any other text is a bad answer.
fn not_utf8(repaired: &str) -> Undecodable {
    match serde_json::from_str::<IgnoredAny>(repaired) {
        Ok(_) => quarantine(repaired, ObjectProblem::NotUtf8),
        Err(error) => Undecodable::NotJson(error),
    }
}

/// Reads only the key of an object that does not decode.
fn quarantine(text: &str, problem: ObjectProblem) -> Undecodable {
    // A parser that finds a value of the wrong type stops there, so the rest may not be JSON.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Undecodable::NotJson(error);
    }
    let parsed: KeyText<'_> = serde_json::from_str(text).unwrap_or_default();
    Undecodable::Quarantined {
        key: parsed.key(),
        resource_version: parsed.resource_version().to_owned(),
        problem,
    }
}

#[cfg(test)]
mod tests;
