//! The pods of the server and their whole history.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// The version of the empty collection: greater than 0 because other things happened in the cluster before.
const FIRST_VERSION: u64 = 10;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object was created.
    Added,
    /// The object was updated.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    /// The resource version of the change.
    pub version: u64,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// `namespace/name`.
    pub key: String,
    /// The object as it is sent: the new state, or the last state with the version of the deletion.
    pub object: Arc<Value>,
    /// If true, no watch sends this change; only lists show its effect.
    pub hidden: bool,
}

/// A collection of pods. Clones are cheap and share the same pods. Each change gets the next integer as its
/// resource version.
#[derive(Clone, Debug)]
pub struct Collection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    history: Mutex<History>,
    version: watch::Sender<u64>,
}

#[derive(Debug)]
struct History {
    changes: Vec<Change>,
    /// UIDs of the existing pods by key.
    uids: BTreeMap<String, String>,
    version: u64,
    /// Watches and continue tokens from versions before this one are expired.
    forgotten: u64,
}

// === impl Collection ===

impl Default for Collection {
    /// An empty collection.
    fn default() -> Self {
        let uids = BTreeMap::new();
        let history = History { changes: Vec::new(), uids, version: FIRST_VERSION, forgotten: 0 };
        Self(Arc::new(Inner { history: Mutex::new(history), version: watch::Sender::new(FIRST_VERSION) }))
    }
}

impl Collection {
    /// Creates or updates the pod. `key` is `namespace/name`. Returns the resource version.
    pub fn put(&self, key: &str) -> u64 {
        self.change(key, Some(Map::new()), false)
    }

    /// Like [`put`](Self::put), with an additional top-level field.
    pub fn put_with(&self, key: &str, field: &str, value: Value) -> u64 {
        self.change(key, Some(Map::from_iter([(field.to_owned(), value)])), false)
    }

    /// Like [`put`](Self::put), but no watch sends the change.
    pub fn put_hidden(&self, key: &str) -> u64 {
        self.change(key, Some(Map::new()), true)
    }

    /// Deletes the pod if it exists. Returns the resource version.
    pub fn delete(&self, key: &str) -> u64 {
        self.change(key, None, false)
    }

    /// Like [`delete`](Self::delete), but no watch sends the change.
    pub fn delete_hidden(&self, key: &str) -> u64 {
        self.change(key, None, true)
    }

    /// Takes a resource version without a change, as if another collection had changed.
    pub fn pass_time(&self) -> u64 {
        let version = self.0.history.lock().next_version();
        self.0.version.send_replace(version);
        version
    }

    /// Forgets all changes so far (compaction). Watches that start before this version and earlier continue tokens
    /// are expired; open watches continue.
    pub fn compact(&self) {
        let mut history = self.0.history.lock();
        // A watch may still start at exactly this version: it needs only later changes.
        history.forgotten = history.version;
    }

    /// The newest resource version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.history.lock().version
    }

    /// Keys and resource versions of the existing pods, sorted by key: `shop/a@12`.
    #[must_use]
    pub fn state(&self) -> Vec<String> {
        let changes = self.state_at(u64::MAX);
        changes.iter().map(|change| format!("{}@{}", change.key, change.version)).collect()
    }

    /// All changes in order, including hidden and forgotten ones.
    #[must_use]
    pub fn history(&self) -> Vec<Change> {
        self.0.history.lock().changes.clone()
    }

    /// Returns true if a watch that starts at this version would miss forgotten changes.
    pub(crate) fn is_expired(&self, version: u64) -> bool {
        version < self.0.history.lock().forgotten
    }

    /// The last change of each object that existed at this version, sorted by key.
    pub(crate) fn state_at(&self, version: u64) -> Vec<Change> {
        let mut state = BTreeMap::new();
        for change in self.0.history.lock().changes.iter().take_while(|change| change.version <= version) {
            if change.kind == ChangeKind::Deleted {
                state.remove(&change.key);
            } else {
                state.insert(change.key.clone(), change.clone());
            }
        }
        state.into_values().collect()
    }

    /// The changes after one version and up to another that watches send.
    pub(crate) fn visible_between(&self, after: u64, until: u64) -> Vec<Change> {
        let history = self.0.history.lock();
        let between = |change: &&Change| after < change.version && change.version <= until && !change.hidden;
        history.changes.iter().filter(between).cloned().collect()
    }

    /// Receives every new resource version.
    pub(crate) fn versions(&self) -> watch::Receiver<u64> {
        self.0.version.subscribe()
    }

    /// Makes a change: `fields` are the new state; `None` deletes.
    fn change(&self, key: &str, fields: Option<Map<String, Value>>, hidden: bool) -> u64 {
        let version = self.0.history.lock().change(key, fields, hidden);
        self.0.version.send_replace(version);
        version
    }
}

// === impl History ===

impl History {
    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn change(&mut self, key: &str, fields: Option<Map<String, Value>>, hidden: bool) -> u64 {
        let version = self.next_version();
        let uid = self.uids.get(key).cloned();
        let (kind, object) = match (fields, uid) {
            (None, None) => return version,
            (None, Some(uid)) => (ChangeKind::Deleted, pod(key, &uid, version, Map::new())),
            (Some(fields), Some(uid)) => (ChangeKind::Modified, pod(key, &uid, version, fields)),
            (Some(fields), None) => {
                let uid = format!("uid-{version}");
                self.uids.insert(key.to_owned(), uid.clone());
                (ChangeKind::Added, pod(key, &uid, version, fields))
            }
        };
        if kind == ChangeKind::Deleted {
            self.uids.remove(key);
        }
        self.changes.push(Change { version, kind, key: key.to_owned(), object: Arc::new(object), hidden });
        version
    }
}

fn pod(key: &str, uid: &str, version: u64, mut fields: Map<String, Value>) -> Value {
    let (namespace, name) = key.split_once('/').unwrap_or(("default", key));
    let metadata =
        json!({"namespace": namespace, "name": name, "uid": uid, "resourceVersion": version.to_string()});
    fields.extend([
        ("kind".to_owned(), "Pod".into()),
        ("apiVersion".to_owned(), "v1".into()),
        ("metadata".to_owned(), metadata),
    ]);
    Value::Object(fields)
}
