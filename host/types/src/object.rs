//! One state of one object: raw JSON and a small parsed header.

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

use crate::ObjectKey;

/// The bytes of a length in [`Object::text`].
const PREFIX: usize = 3;

/// The memory of all objects of this process in bytes.
static ALL_BYTES: AtomicUsize = AtomicUsize::new(0);

/// One state of one object, immutable and shared by all readers.
///
/// The body is the JSON text that the API server sent, without the fields that the watch drops. Only the header is
/// parsed; no object tree is built on the path of an event. Packing the body changes how it is stored, not what readers
/// see.
pub struct Object {
    namespace: Arc<str>,
    name: Arc<str>,
    /// uid, resourceVersion, creationTimestamp, deletionTimestamp, labels and owners in one allocation. Each string follows its
    /// length, which is written as three characters of seven bits, so that the whole is a valid string and is sliced without
    /// unsafe code.
    text: Box<str>,
    generation: Option<i64>,
    labels: u16,
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
        /// The size of the uncompressed text in bytes.
        text_len: u32,
        /// The codec that packed it.
        codec: Arc<dyn BodyCodec>,
    },
}

/// Unpacks bodies. The cache implements it; a packed object carries its codec, so readers need not care.
pub trait BodyCodec: Send + Sync {
    /// Returns the text that was packed; `text_len` is its size in bytes.
    ///
    /// # Errors
    /// Only if this codec did not make the bytes, which is a bug of the host.
    fn unpack(&self, bytes: &[u8], text_len: usize) -> Result<String, CodecError>;
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

/// A string of the header, or the number of labels, exceeds the limits of the compact header. The API server's own
/// limits are a thousand times lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a string in the object's metadata is longer than 2 MiB, or it has more than 65,535 labels")]
pub struct ObjectTooLarge;

/// Iterates over the strings in the order in which they were pushed.
struct Fields<'a>(&'a str);

// === impl Header ===

impl Header<'_> {
    /// Calls `push` with each string that [`Object`] keeps in one text, in its order.
    fn each_text<E>(&self, mut push: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        for value in [&self.uid, &self.resource_version, &self.creation_timestamp, &self.deletion_timestamp] {
            push(value)?;
        }
        for (key, value) in &self.labels {
            push(key)?;
            push(value)?;
        }
        for owner in &self.owners {
            push(if owner.controller { "c" } else { "" })?;
            for value in [&owner.api_version, &owner.kind, &owner.name, &owner.uid] {
                push(value)?;
            }
        }
        Ok(())
    }

    /// The length of that text, so that it is allocated once.
    fn text_len(&self) -> usize {
        let mut len = 0;
        let _ = self.each_text(|value| {
            len += PREFIX + value.len();
            Ok::<(), std::convert::Infallible>(())
        });
        len
    }
}

// === impl Object ===

impl Object {
    /// Makes an object from a header and a body.
    ///
    /// # Errors
    /// [`ObjectTooLarge`] if a string of the header exceeds 2 MiB or there are more than 65,535 labels.
    pub fn new(header: &Header<'_>, body: Body) -> Result<Self, ObjectTooLarge> {
        let mut text = String::with_capacity(header.text_len());
        header.each_text(|value| push(&mut text, value))?;
        let labels = u16::try_from(header.labels.len()).map_err(|_| ObjectTooLarge)?;
        let object = Self {
            namespace: Arc::clone(&header.namespace),
            name: Arc::from(&*header.name),
            text: text.into_boxed_str(),
            generation: header.generation,
            labels,
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

    /// The key within the resource. It copies two pointers.
    pub fn key(&self) -> ObjectKey {
        ObjectKey { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    /// `metadata.uid`; empty if the server sent none.
    pub fn uid(&self) -> &str {
        self.field(0)
    }

    /// `metadata.resourceVersion`, verbatim.
    pub fn resource_version(&self) -> &str {
        self.field(1)
    }

    /// `metadata.creationTimestamp`, RFC 3339; empty if the server sent none.
    pub fn creation_timestamp(&self) -> &str {
        self.field(2)
    }

    /// `metadata.deletionTimestamp`, RFC 3339. `None` unless the object is being deleted.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        Some(self.field(3)).filter(|timestamp| !timestamp.is_empty())
    }

    /// `metadata.generation`.
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// The labels, in the server's order.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut fields = Fields(&self.text).skip(4);
        (0..self.labels).map_while(move |_| Some((fields.next()?, fields.next()?)))
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().find(|(candidate, _)| *candidate == key).map(|(_, value)| value)
    }

    /// `metadata.ownerReferences`, in the server's order.
    pub fn owners(&self) -> impl Iterator<Item = Owner<'_>> {
        let mut fields = Fields(&self.text).skip(4 + 2 * usize::from(self.labels));
        std::iter::from_fn(move || {
            Some(Owner {
                controller: fields.next()? == "c",
                api_version: Cow::Borrowed(fields.next()?),
                kind: Cow::Borrowed(fields.next()?),
                name: Cow::Borrowed(fields.next()?),
                uid: Cow::Borrowed(fields.next()?),
            })
        })
    }

    /// The controlling owner, if there is one.
    pub fn controller(&self) -> Option<Owner<'_>> {
        self.owners().find(|owner| owner.controller)
    }

    /// The whole object as JSON text, including `kind` and `apiVersion`. An unpacked body is shared, not copied.
    ///
    /// # Errors
    /// See [`BodyCodec::unpack`].
    pub fn json(&self) -> Result<JsonText, CodecError> {
        self.body.read().text()
    }

    /// Replaces the body by the result of `pack`, unless it is packed already. Readers are not blocked meanwhile; they
    /// get the unpacked text.
    pub fn pack(&self, pack: impl FnOnce(&str) -> Option<Body>) {
        let text = match &*self.body.read() {
            Body::Raw(text) => Arc::clone(text),
            Body::Packed { .. } => return,
        };
        if let Some(packed) = pack(&text) {
            let mut body = self.body.write();
            ALL_BYTES.fetch_add(packed.len(), Ordering::Relaxed);
            ALL_BYTES.fetch_sub(body.len(), Ordering::Relaxed);
            *body = packed;
        }
    }

    /// The text of an unpacked body. Returns `None` if the body is packed.
    pub fn raw(&self) -> Option<Arc<str>> {
        match &*self.body.read() {
            Body::Raw(text) => Some(Arc::clone(text)),
            Body::Packed { .. } => None,
        }
    }

    /// The memory of this state in bytes, without the allocator's overhead and the shared namespace.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.text.len() + self.body.read().len()
    }

    fn field(&self, index: usize) -> &str {
        Fields(&self.text).nth(index).unwrap_or_default()
    }
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
    fn text(&self) -> Result<JsonText, CodecError> {
        match self {
            Self::Raw(text) => Ok(JsonText::Shared(Arc::clone(text))),
            Self::Packed { bytes, text_len, codec } => {
                codec.unpack(bytes, *text_len as usize).map(JsonText::Unpacked)
            }
        }
    }

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

// === impl Fields ===

impl<'a> Iterator for Fields<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (prefix, rest) = self.0.split_at_checked(PREFIX)?;
        let len = prefix.bytes().fold(0, |len, byte| len << 7 | usize::from(byte));
        let (value, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(value)
    }
}

/// Writes what [`Fields`] reads.
fn push(text: &mut String, value: &str) -> Result<(), ObjectTooLarge> {
    let len = value.len();
    if len >= 1 << 21 {
        return Err(ObjectTooLarge);
    }
    // Seven bits are always an ASCII character.
    text.extend([14, 7, 0].map(|shift| char::from(((len >> shift) & 0x7f) as u8)));
    text.push_str(value);
    Ok(())
}

#[cfg(test)]
mod tests;
