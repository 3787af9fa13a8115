//! The JSON text of an object and its forms of storage.

use std::{ops::Deref, sync::Arc};

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

// === impl Body ===

impl Body {
    pub(super) fn text(&self) -> Result<JsonText, CodecError> {
        match self {
            Self::Raw(text) => Ok(JsonText::Shared(Arc::clone(text))),
            Self::Packed { bytes, text_len, codec } => {
                codec.unpack(bytes, *text_len as usize).map(JsonText::Unpacked)
            }
        }
    }

    /// The size in memory, in bytes.
    pub(super) fn len(&self) -> usize {
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
