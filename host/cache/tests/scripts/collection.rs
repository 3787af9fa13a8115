//! The collection with its whole history.

use std::{collections::BTreeMap, sync::Arc};

use crate::script::{Key, Op};

/// The start of every object in an event. A list omits it from its items, and the cache restores it.
pub(crate) const TYPE: &str = r#""kind":"Pod","apiVersion":"v1","#;

/// Pods of two namespaces.
#[derive(Default)]
pub(crate) struct Collection {
    history: Vec<Change>,
    objects: BTreeMap<Key, usize>,
    version: u64,
    uids: u64,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Key,
    pub(crate) uid: u64,
    pub(crate) kind: Kind,
    /// The whole object, as a watch sends it.
    pub(crate) text: Arc<str>,
    /// True if the object does not decode.
    pub(crate) broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Added,
    Modified,
    Deleted,
}

// === impl Key ===

impl Key {
    pub(crate) fn namespace(self) -> String {
        namespace(self.namespace)
    }

    pub(crate) fn name(self) -> String {
        format!("pod-{}", self.name)
    }
}

pub(crate) fn namespace(number: u8) -> String {
    format!("ns-{number}")
}

// === impl Kind ===

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

// === impl Collection ===

impl Collection {
    pub(crate) fn new() -> Self {
        Self { version: 10, ..Self::default() }
    }

    /// The newest resource version.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn history(&self) -> &[Change] {
        &self.history
    }

    /// The change that made this version.
    pub(crate) fn change(&self, version: u64) -> Option<&Change> {
        self.history.binary_search_by_key(&version, |change| change.version).ok().map(|at| &self.history[at])
    }

    /// The changes after `version`, up to and including `until`.
    pub(crate) fn between(&self, version: u64, until: u64) -> &[Change] {
        let at = |version| self.history.partition_point(|change| change.version <= version);
        &self.history[at(version)..at(until).max(at(version))]
    }

    /// The collection as it was at a version.
    pub(crate) fn at(&self, version: u64) -> BTreeMap<Key, &Change> {
        let mut objects = BTreeMap::new();
        for change in self.between(0, version) {
            if change.kind == Kind::Deleted {
                objects.remove(&change.key);
            } else {
                objects.insert(change.key, change);
            }
        }
        objects
    }

    /// Applies an operation.
    pub(crate) fn apply(&mut self, op: Op, key: Key) {
        match op {
            Op::Put => self.put(key, false),
            Op::Break => self.put(key, true),
            Op::Delete => self.delete(key),
            Op::Recreate => {
                self.delete(key);
                self.put(key, false);
            }
        }
    }

    /// Another change in the cluster takes the next version.
    pub(crate) fn elsewhere(&mut self) {
        self.version += 1;
    }

    fn put(&mut self, key: Key, broken: bool) {
        let known = self.objects.get(&key).map(|at| self.history[*at].uid);
        let kind = if known.is_some() { Kind::Modified } else { Kind::Added };
        let uid = known.unwrap_or_else(|| {
            self.uids += 1;
            self.uids
        });
        self.objects.insert(key, self.history.len());
        self.push(key, uid, kind, broken);
    }

    fn delete(&mut self, key: Key) {
        if let Some(at) = self.objects.remove(&key) {
            let Change { uid, broken, .. } = self.history[at];
            self.push(key, uid, Kind::Deleted, broken);
        }
    }

    fn push(&mut self, key: Key, uid: u64, kind: Kind, broken: bool) {
        self.version += 1;
        let version = self.version;
        let (namespace, name) = (key.namespace(), key.name());
        let labels = if broken { "[]" } else { r#"{"app":"shop"}"# };
        let node = node(version);
        let text = format!(
            r#"{{{TYPE}"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{uid}","resourceVersion":"{version}","labels":{labels}}},"spec":{{"nodeName":"{node}"}}}}"#
        );
        self.history.push(Change { version, key, uid, kind, text: text.into(), broken });
    }
}

/// The node of a pod in the state of this version.
pub(crate) fn node(version: u64) -> String {
    format!("node-{}", version % 3)
}
