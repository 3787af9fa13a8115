//! The namespaces of a grant.

use std::{collections::BTreeSet, fmt, sync::Arc};

use super::Fault;

/// The namespaces in which a grant is valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Namespaces {
    /// All namespaces, and cluster-scoped objects.
    All,
    /// These namespaces. Never empty.
    Only(BTreeSet<Arc<str>>),
}

// === impl Namespaces ===

impl Namespaces {
    /// Returns true if the grant is valid in this namespace. The empty namespace is that of cluster-scoped objects.
    #[must_use]
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(namespace),
        }
    }

    /// The namespaces of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(mut these), Self::Only(those)) => {
                these.extend(those);
                Self::Only(these)
            }
            _ => Self::All,
        }
    }

    /// Splits a text into the part before the `@` and the namespaces after it. Without an `@`, all namespaces.
    pub(super) fn split(text: &str) -> Result<(&str, Self), Fault> {
        let Some((head, names)) = text.split_once('@') else { return Ok((text.trim(), Self::All)) };
        let names: BTreeSet<Arc<str>> = names.split(',').map(str::trim).map(Arc::from).collect();
        match names.iter().find(|name| !is_namespace(name)) {
            Some(wrong) => Err(Fault::new(
                format!("`{wrong}` is not a namespace"),
                "write the namespaces as in `@shop` or `@shop,default`, or nothing for all of them",
            )),
            None => Ok((head.trim(), Self::Only(names))),
        }
    }
}

/// The form in a grant, after the resource: ` @default,shop`, or nothing for all namespaces.
impl fmt::Display for Namespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => Ok(()),
            Self::Only(names) => {
                let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
                write!(f, " @{}", names.join(","))
            }
        }
    }
}

/// Returns true if the text is a valid name of a namespace: a DNS label (RFC 1123).
#[must_use]
pub fn is_namespace(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}

/// Returns true for lower-case letters and digits, with `-` between them.
pub(super) fn is_label(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed) && !text.starts_with('-') && !text.ends_with('-')
}
