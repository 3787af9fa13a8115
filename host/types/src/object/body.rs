//! The JSON text of an object, and how it is kept.

use std::{ops::Deref, sync::Arc};

/// The JSON text of an object, as it is kept.
pub enum Body {
    /// As it is.
    Raw(Arc<str>),
    /// Compressed.
    Packed {
        /// What [`BodyCodec::unpack`] takes.
        bytes: Box<[u8]>,
        /// Of the text, in bytes.
        text_len: u32,
        /// Knows the dictionary.
        codec: Arc<dyn BodyCodec>,
    },
}

/// Gives a packed body back. The cache implements it; objects carry it so that readers need not know.
pub trait BodyCodec: Send + Sync {
    /// The text that was packed; `text_len` is its length in bytes.
    ///
    /// # Errors
    /// Only if the bytes are not what this codec made, which is a bug of the host.
    fn unpack(&self, bytes: &[u8], text_len: usize) -> Result<String, CodecError>;
}

/// A packed body that does not unpack: a bug of the host, never the API server's or a plugin's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cached copy of the object cannot be unpacked: {0}")]
pub struct CodecError(pub String);

/// The JSON text of an object, for a reader. It has no debug form: it may be a Secret.
pub enum JsonText {
    /// The object's own.
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

    /// The memory it takes, in bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Raw(text) => text.len(),
            Self::Packed { bytes, .. } => bytes.len(),
        }
    }
}

// === impl JsonText ===

impl JsonText {
    /// The text, copied only where others share it.
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
