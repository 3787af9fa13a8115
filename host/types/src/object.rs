//! One state of one object: raw JSON and a small parsed header.

mod fields;
mod references;
mod vocabulary;

use std::{
    borrow::Cow,
    fmt,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::RwLock;

use crate::{Name, ObjectKey, Uid};

pub use fields::ObjectTooLarge;
pub use vocabulary::Vocabulary;

use fields::{Field, Fields, Writer};
use references::{References, Strings};

/// The memory of all objects of this process in bytes.
static ALL_BYTES: AtomicUsize = AtomicUsize::new(0);

/// One state of one object, immutable and shared by all readers.
///
/// The body is the JSON text that the API server sent, without the fields that the watch drops. Only the header is
/// parsed; no object tree is built on the path of an event. Packing the body changes how it is stored, not what readers
/// see.
///
/// Each object of a cache takes this structure, one allocation for its name and header, and one for its body.
pub struct Object {
    namespace: Arc<str>,
    /// The name, which is shared with the keys of the object. The text behind it has uid, resourceVersion, creationTimestamp,
    /// deletionTimestamp, generation, whether it is partial, labels and owners, as [`Fields`] reads them.
    name: Name,
    /// The strings that the header refers to.
    vocabulary: Option<Arc<Vocabulary>>,
    body: RwLock<Body>,
}

/// The fields of `metadata` that the host itself reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// The namespace, shared by all of its objects; empty for a cluster-scoped object.
    pub namespace: Arc<str>,
    /// `metadata.name`.
    pub name: Cow<'a, str>,
    /// `metadata.uid`; empty if the server sent none.
    pub uid: Cow<'a, str>,
    /// `metadata.resourceVersion`, verbatim.
    pub resource_version: Cow<'a, str>,
    /// `metadata.creationTimestamp`, RFC 3339; empty if the server sent none.
    pub creation_timestamp: Cow<'a, str>,
    /// `metadata.deletionTimestamp`, RFC 3339; empty unless the object is being deleted.
    pub deletion_timestamp: Cow<'a, str>,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// `metadata.labels`, in the server's order.
    pub labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// `metadata.ownerReferences`.
    pub owners: Vec<Owner<'a>>,
    /// True if only declared parts of the object are kept.
    pub partial: bool,
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner<'a> {
    /// The owner's apiVersion, for example `apps/v1`.
    pub api_version: Cow<'a, str>,
    /// The owner's kind, for example `ReplicaSet`.
    pub kind: Cow<'a, str>,
    /// The owner's name.
    pub name: Cow<'a, str>,
    /// The owner's UID.
    pub uid: Cow<'a, str>,
    /// True for the owner that is the controller; an object has at most one.
    pub controller: bool,
}

/// The stored JSON text of an object.
pub enum Body {
    /// Uncompressed.
    Raw(Arc<str>),
    /// Compressed.
    Packed {
        /// The input of [`BodyCodec::unpack`].
        bytes: Box<[u8]>,
        /// The codec that packed it. The box makes it a pointer of eight bytes, because each object has one.
        codec: Arc<Box<dyn BodyCodec>>,
    },
}

/// Unpacks bodies. The cache implements it; a packed object carries its codec, so readers need not care.
pub trait BodyCodec: Send + Sync {
    /// Calls `read` once, with the text that was packed. If the bytes cannot be unpacked, does not call `read`.
    ///
    /// # Errors
    /// Only if this codec did not make the bytes, which is a bug of the host.
    fn unpack(&self, bytes: &[u8], read: &mut dyn FnMut(&str)) -> Result<(), CodecError>;
}

/// A packed body cannot be unpacked. This is a bug of the host, never the fault of the API server or a plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cached copy of the object cannot be unpacked: {0}")]
pub struct CodecError(pub String);

/// The JSON text of an object for a reader. It has no debug form, because it may be a Secret.
pub enum JsonText {
    /// Shared with the object.
    Shared(Arc<str>),
    /// Unpacked for this reader.
    Unpacked(String),
}

/// The most bytes of a header that a key keeps in memory. The header of a pod has about 100.
const MAX_IN_KEY: usize = 512;

/// The number of strings before the labels in a header.
const BEFORE_LABELS: usize = 6;

/// The string in a header that marks a partial object.
const PARTIAL: &str = "p";

// === impl Header ===

impl Header<'_> {
    /// Writes the header, without the namespace, as the text that [`Fields`] reads.
    fn written(&self, vocabulary: Option<&Vocabulary>) -> Result<Name, ObjectTooLarge> {
        let mut text = Writer::new(&self.name, vocabulary);
        text.push_uid(&self.uid)?;
        text.push(&self.resource_version)?;
        text.push_time(&self.creation_timestamp)?;
        text.push_time(&self.deletion_timestamp)?;
        let generation = self.generation.map(|generation| generation.to_string());
        text.push(generation.as_deref().unwrap_or_default())?;
        text.push(if self.partial { PARTIAL } else { "" })?;
        for (key, value) in &self.labels {
            text.push(key)?;
            text.push(value)?;
        }
        text.end_group();
        for owner in &self.owners {
            text.push(if owner.controller { "c" } else { "" })?;
            for value in [&owner.api_version, &owner.kind, &owner.name] {
                text.push(value)?;
            }
            text.push_uid(&owner.uid)?;
        }
        Ok(text.finish())
    }
}

// === impl Object ===

impl Object {
    /// Makes an object from a header and a body.
    ///
    /// # Errors
    /// [`ObjectTooLarge`] if a string of the header exceeds 2 MiB.
    pub fn new(header: &Header<'_>, body: Body) -> Result<Self, ObjectTooLarge> {
        Self::with_vocabulary(header, body, None)
    }

    /// Makes an object like [`Object::new`], with a smaller header: it refers to the strings of the vocabulary.
    ///
    /// # Errors
    /// The same as for [`Object::new`].
    pub fn with_vocabulary(
        header: &Header<'_>,
        body: Body,
        vocabulary: Option<Arc<Vocabulary>>,
    ) -> Result<Self, ObjectTooLarge> {
        let object = Self {
            namespace: Arc::clone(&header.namespace),
            name: header.written(vocabulary.as_deref())?,
            vocabulary,
            body: RwLock::new(body),
        };
        ALL_BYTES.fetch_add(object.memory_bytes(), Ordering::Relaxed);
        Ok(object)
    }

    /// The memory of all objects of this process in bytes: those in caches, those that queues hold, and those of lists
    /// that are arriving. Packing makes it smaller.
    pub fn all_bytes() -> usize {
        ALL_BYTES.load(Ordering::Relaxed)
    }

    /// `metadata.namespace`; empty for a cluster-scoped object.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key within the resource. It copies two pointers and keeps the header in memory, unless the header is large.
    pub fn key(&self) -> ObjectKey {
        let (name, header) = self.name.parts();
        let name = if header.len() > MAX_IN_KEY { Name::from(name) } else { self.name.clone() };
        ObjectKey { namespace: Arc::clone(&self.namespace), name }
    }

    /// `metadata.uid`; empty if the server sent none.
    pub fn uid(&self) -> Uid<'_> {
        self.field(0).uid()
    }

    /// `metadata.resourceVersion`, verbatim.
    pub fn resource_version(&self) -> &str {
        self.field(1).as_str()
    }

    /// `metadata.creationTimestamp`, RFC 3339; empty if the server sent none.
    pub fn creation_timestamp(&self) -> Cow<'_, str> {
        self.field(2).text()
    }

    /// `metadata.deletionTimestamp`, RFC 3339. `None` unless the object is being deleted.
    pub fn deletion_timestamp(&self) -> Option<Cow<'_, str>> {
        Some(self.field(3).text()).filter(|timestamp| !timestamp.is_empty())
    }

    /// `metadata.generation`.
    pub fn generation(&self) -> Option<i64> {
        self.field(4).as_str().parse().ok()
    }

    /// Returns true if only declared parts of the object are kept: what else is absent from its text may be there in the
    /// cluster.
    pub fn is_partial(&self) -> bool {
        self.field(5).as_str() == PARTIAL
    }

    /// The labels, in the server's order.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut fields = self.fields();
        // There is always a string at this place.
        fields.nth(BEFORE_LABELS - 1);
        std::iter::from_fn(move || Some((fields.next()?.as_str(), fields.next()?.as_str()))).fuse()
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().find(|(candidate, _)| *candidate == key).map(|(_, value)| value)
    }

    /// `metadata.ownerReferences`, in the server's order.
    pub fn owners(&self) -> impl Iterator<Item = Owner<'_>> {
        let mut fields = self.fields();
        fields.by_ref().for_each(drop);
        owners(fields)
    }

    /// The controlling owner, if there is one.
    pub fn controller(&self) -> Option<Owner<'_>> {
        self.owners().find(|owner| owner.controller)
    }

    /// The whole object as JSON text, including `kind` and `apiVersion`. A body that is not packed is shared, not copied.
    ///
    /// # Errors
    /// See [`BodyCodec::unpack`].
    pub fn json(&self) -> Result<JsonText, CodecError> {
        match &*self.body.read() {
            Body::Raw(text) => Ok(JsonText::Shared(Arc::clone(text))),
            Body::Packed { bytes, codec } => {
                let references = self.references();
                let mut whole = None;
                codec.unpack(bytes, &mut |text| whole = references.expand(text))?;
                let missing = || CodecError("it refers to a string that the header does not have".to_owned());
                whole.map(JsonText::Unpacked).ok_or_else(missing)
            }
        }
    }

    /// The text to pack: the body with references to the header, which is shorter than the body. Returns `None` if the body is
    /// packed already, or is no JSON.
    pub fn packable(&self) -> Option<String> {
        self.references().shorten(&self.raw()?)
    }

    /// Replaces the body by the result of `pack` for its [`packable`](Self::packable) text, unless the body is packed already or has
    /// fewer than `least` bytes. The second argument of `pack` is the size of the body in bytes. Readers do not wait for `pack`:
    /// until it returns, they share the text that is not packed.
    pub fn pack(&self, least: usize, pack: impl FnOnce(&str, usize) -> Option<Body>) {
        let Some(raw) = self.raw().filter(|raw| raw.len() >= least) else { return };
        let packable = self.references().shorten(&raw);
        if let Some(packed) = packable.and_then(|text| pack(&text, raw.len())) {
            let mut body = self.body.write();
            ALL_BYTES.fetch_add(packed.len(), Ordering::Relaxed);
            ALL_BYTES.fetch_sub(body.len(), Ordering::Relaxed);
            *body = packed;
        }
    }

    /// The text of a body that is not packed. Returns `None` if the body is packed.
    pub fn raw(&self) -> Option<Arc<str>> {
        match &*self.body.read() {
            Body::Raw(text) => Some(Arc::clone(text)),
            Body::Packed { .. } => None,
        }
    }

    /// The memory of this state in bytes, without the allocator's overhead and what objects share: the namespace and the
    /// vocabulary.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.name.memory_bytes() + self.body.read().len()
    }

    /// The strings of the header, for a [`Vocabulary`].
    pub fn header_texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let mut fields = self.fields();
        let before_owners = fields.clone();
        fields.by_ref().for_each(drop);
        before_owners.chain(fields).map(Field::text)
    }

    /// The strings to which a packed body refers, in one pass over the header.
    fn references(&self) -> References<'_> {
        let mut fields = self.fields();
        let mut next = || fields.next().map(Field::text).unwrap_or_default();
        let mut references = References::new(Strings {
            name: self.name(),
            namespace: self.namespace(),
            uid: next(),
            resource_version: next(),
            created: next(),
            deleted: next(),
        });
        // The generation, and whether the object is partial.
        fields.by_ref().take(2).for_each(drop);
        while fields.next().is_some() {
            references.add_label(fields.next().map(Field::text).unwrap_or_default());
        }
        for owner in owners(fields) {
            references.add_owner(owner.name, owner.uid);
        }
        references
    }

    fn field(&self, index: usize) -> Field<'_> {
        self.fields().nth(index).unwrap_or(Field::Text(""))
    }

    fn fields(&self) -> Fields<'_> {
        let (name, header) = self.name.parts();
        Fields::new(header, name, self.vocabulary.as_deref())
    }
}

/// The owners, which begin here.
fn owners(mut fields: Fields<'_>) -> impl Iterator<Item = Owner<'_>> {
    std::iter::from_fn(move || {
        Some(Owner {
            controller: fields.next()?.as_str() == "c",
            api_version: fields.next()?.text(),
            kind: fields.next()?.text(),
            name: fields.next()?.text(),
            uid: fields.next()?.text(),
        })
    })
    .fuse()
}

impl Drop for Object {
    fn drop(&mut self) {
        ALL_BYTES.fetch_sub(self.memory_bytes(), Ordering::Relaxed);
    }
}

impl fmt::Debug for Object {
    /// Shows the identity of the state. The body may be a Secret, so it never appears in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} rv={} uid={})", self.key(), self.resource_version(), self.uid())
    }
}

// === impl Body ===

impl Body {
    /// The size in memory, in bytes.
    fn len(&self) -> usize {
        match self {
            Self::Raw(text) => text.len(),
            Self::Packed { bytes, .. } => bytes.len(),
        }
    }
}

// === impl JsonText ===

impl JsonText {
    /// Returns the text as a `String`, which copies a shared text.
    pub fn into_string(self) -> String {
        match self {
            Self::Shared(text) => text.as_ref().to_owned(),
            Self::Unpacked(text) => text,
        }
    }
}

impl Deref for JsonText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Shared(text) => text,
            Self::Unpacked(text) => text,
        }
    }
}

#[cfg(test)]
mod tests;
