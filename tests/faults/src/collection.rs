//! The pods the server has, and everything that ever happened to them.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// Something else happened in this cluster before.
const FIRST_VERSION: u64 = 10;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was created.
    Added,
    /// It got another state.
    Modified,
    /// It was deleted.
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    /// The resource version the change made.
    pub version: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// `namespace/name`.
    pub key: String,
    /// The new state, or the last one with the version of the deletion; the way it goes over the wire.
    pub object: Arc<Value>,
    /// True where no watch ever tells it: only a list shows what it did.
    pub hidden: bool,
}

/// A collection of pods. Cheap to clone; all clones are the same collection. Each change has a resource
/// version of its own, the next integer.
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
    /// Of what is there, by key.
    uids: BTreeMap<String, String>,
    version: u64,
    /// Watches and continue tokens from before this version are expired.
    forgotten: u64,
}

// === impl Collection ===

impl Default for Collection {
    /// Empty.
    fn default() -> Self {
        let uids = BTreeMap::new();
        let history = History { changes: Vec::new(), uids, version: FIRST_VERSION, forgotten: 0 };
        Self(Arc::new(Inner { history: Mutex::new(history), version: watch::Sender::new(FIRST_VERSION) }))
    }
}

impl Collection {
    /// Creates the pod, or gives it a new state. `key` is `namespace/name`. Answers the resource version.
    pub fn put(&self, key: &str) -> u64 {
        self.change(key, Some(Map::new()), false)
    }

    /// The same, with this field beside its metadata.
    pub fn put_with(&self, key: &str, field: &str, value: Value) -> u64 {
        self.change(key, Some(Map::from_iter([(field.to_owned(), value)])), false)
    }

    /// The same, and no watch tells it.
    pub fn put_hidden(&self, key: &str) -> u64 {
        self.change(key, Some(Map::new()), true)
    }

    /// Deletes the pod, if it is there. Answers the resource version.
    pub fn delete(&self, key: &str) -> u64 {
        self.change(key, None, false)
    }

    /// The same, and no watch tells it.
    pub fn delete_hidden(&self, key: &str) -> u64 {
        self.change(key, None, true)
    }

    /// Something happens to another collection: a new resource version, and no change here.
    pub fn pass_time(&self) -> u64 {
        let version = self.0.history.lock().next_version();
        self.0.version.send_replace(version);
        version
    }

    /// Compaction: from now on, what happened so far is forgotten. Watches that start before are expired, and
    /// so are continue tokens given out before; open watches go on.
    pub fn compact(&self) {
        let mut history = self.0.history.lock();
        // A watch may still start at this very version: what it would be told comes after it.
        history.forgotten = history.version;
    }

    /// The last resource version given out.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.history.lock().version
    }

    /// Keys and resource versions of what is there, in order of their keys: `shop/a@12`.
    #[must_use]
    pub fn state(&self) -> Vec<String> {
        let changes = self.state_at(u64::MAX);
        changes.iter().map(|change| format!("{}@{}", change.key, change.version)).collect()
    }

    /// Everything that ever happened, in order, the hidden and the forgotten included.
    #[must_use]
    pub fn history(&self) -> Vec<Change> {
        self.0.history.lock().changes.clone()
    }

    /// True where a watch that starts at this version would miss what is forgotten.
    pub(crate) fn is_expired(&self, version: u64) -> bool {
        version < self.0.history.lock().forgotten
    }

    /// The last change of each object there was at this version, in order of their keys.
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

    /// What watches tell of what happened after one version and up to another.
    pub(crate) fn told_between(&self, after: u64, until: u64) -> Vec<Change> {
        let history = self.0.history.lock();
        let between = |change: &&Change| after < change.version && change.version <= until && !change.hidden;
        history.changes.iter().filter(between).cloned().collect()
    }

    /// The resource version, as it grows.
    pub(crate) fn versions(&self) -> watch::Receiver<u64> {
        self.0.version.subscribe()
    }

    /// `fields`: the new state; none: a deletion.
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
