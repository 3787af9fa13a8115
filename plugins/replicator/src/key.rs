//! The keys of the workqueue.

use std::{fmt, str::FromStr};

use informer_sdk::ObjectKey;

/// A key of the workqueue: the objects to compare. Spaces separate its parts. Only the name of a Role or a RoleBinding may contain a
/// space: the key of such an object does not parse, so the object is not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// One target and one source. Only this key leads to a write.
    Pair(Pair),
    /// An object that is a source, or was one: all its targets.
    Source { gvr: String, object: ObjectKey },
    /// All sources with this name. One of them may fill a place that became free.
    Name { gvr: String, name: String },
    /// A namespace that is new or has new labels.
    Namespace(String),
    /// Everything.
    All,
}

/// A target, and the source that it may be a copy of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) gvr: String,
    pub(crate) source: ObjectKey,
    pub(crate) target: ObjectKey,
}

/// The text is not a key of this plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a key of the replicator")]
pub(crate) struct InvalidKey(String);

// === impl Key ===

impl Key {
    pub(crate) fn source(gvr: &str, object: &ObjectKey) -> Self {
        Self::Source { gvr: gvr.to_owned(), object: object.clone() }
    }

    pub(crate) fn pair(gvr: &str, source: &ObjectKey, target: &ObjectKey) -> Self {
        Self::Pair(Pair { gvr: gvr.to_owned(), source: source.clone(), target: target.clone() })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair(Pair { gvr, source, target }) => write!(f, "pair {gvr} {source} {target}"),
            Self::Source { gvr, object } => write!(f, "source {gvr} {object}"),
            Self::Name { gvr, name } => write!(f, "name {gvr} {name}"),
            Self::Namespace(name) => write!(f, "namespace {name}"),
            Self::All => f.write_str("all"),
        }
    }
}

impl FromStr for Key {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let invalid = || InvalidKey(text.to_owned());
        let object = |text: &str| text.parse::<ObjectKey>().map_err(|_| invalid());
        match *text.split(' ').collect::<Vec<_>>() {
            ["pair", gvr, source, target] => Ok(Self::pair(gvr, &object(source)?, &object(target)?)),
            ["source", gvr, key] => Ok(Self::source(gvr, &object(key)?)),
            ["name", gvr, name] => Ok(Self::Name { gvr: gvr.to_owned(), name: name.to_owned() }),
            ["namespace", name] => Ok(Self::Namespace(name.to_owned())),
            ["all"] => Ok(Self::All),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_key_parses_and_other_texts_are_refused() {
        for text in [
            "pair v1/secrets shop/web blog/web",
            "source v1/configmaps shop/web",
            "name v1/secrets web",
            "namespace shop",
            "all",
        ] {
            assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
        }
        for text in ["", "pair v1/secrets shop/web", "source a b c", "source a /b", "other", "source a b/c d"]
        {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }
}
