//! The place at which the next page of a list begins.

use std::fmt;

/// Identifies a page of a list. Clients treat the text as opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// The resource version of the whole list.
    pub(crate) version: u64,
    /// The number of the page. The first page is 1 and has no token.
    pub(crate) page: usize,
    /// The last key of the page before.
    pub(crate) after: String,
}

// === impl ContinueToken ===

impl ContinueToken {
    /// Returns `None` if the text is not a token of this server.
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
