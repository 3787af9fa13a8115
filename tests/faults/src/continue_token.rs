//! Where the next page of a list begins.

use std::fmt;

/// A page of the list at one resource version. Opaque to clients, so its text may be readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// The version of the whole list.
    pub(crate) version: u64,
    /// From 1; no token is for the first.
    pub(crate) page: usize,
    /// The last key of the page before.
    pub(crate) after: String,
}

// === impl ContinueToken ===

impl ContinueToken {
    /// None where it is no token of this server.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let version = parts.next()?.parse().ok()?;
        let page = parts.next()?.parse().ok()?;
        Some(Self { version, page, after: parts.next()?.to_owned() })
    }
}

impl fmt::Display for ContinueToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.version, self.page, self.after)
    }
}
