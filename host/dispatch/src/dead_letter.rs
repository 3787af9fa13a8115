//! Notifications and keys that were given up.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use informer_types::{Body, Cause, Failure, Header, Object};

use crate::{
    entry::{Entry, ObjectRef},
    letters::{Letter, cut},
};

/// The longest labels of a letter, keys and values together. If an object has more, all its labels are left out.
const MAX_LABEL_BYTES: usize = 16 << 10;

/// A notification that was given up. The letter does not keep the object itself: it may be large, it may be a Secret, and
/// the cache has a newer state. It does not keep annotations either: `kubectl apply` writes whole objects there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The object.
    pub object: ObjectRef,
    /// `add`, `update` or `delete`.
    pub verb: &'static str,
    /// The cause of the notification.
    pub cause: Cause,
    /// UID of the object.
    pub uid: Box<str>,
    /// Resource version of the newest state in the notification, verbatim.
    pub resource_version: Box<str>,
    /// Labels of the object.
    pub labels: Vec<(Box<str>, Box<str>)>,
    /// Number of calls made.
    pub attempts: u32,
    /// Why the last call failed; the message is cut at 4 KiB.
    pub failure: Failure,
    /// When the notification was given up.
    pub at: SystemTime,
}

/// A key of a workqueue that was given up. It is listed until a later call for it succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedKey {
    /// The key.
    pub key: Arc<str>,
    /// Number of failed calls in a row.
    pub attempts: u32,
    /// Why the last call failed; the message is cut at 4 KiB.
    pub failure: Failure,
    /// When the key was given up.
    pub at: SystemTime,
}

// === impl DeadLetter ===

impl DeadLetter {
    pub(crate) fn new(object: ObjectRef, entry: &Entry, failure: Failure) -> Self {
        let state = entry.change.object();
        Self {
            object,
            verb: entry.change.verb(),
            cause: entry.cause,
            uid: state.uid().to_string().into(),
            resource_version: state.resource_version().into(),
            labels: labels(state),
            attempts: entry.attempts,
            failure: cut(failure),
            at: SystemTime::now(),
        }
    }

    /// Rebuilds the object from its identity and its labels, so that its deletion can be delivered again. The JSON has no `kind`,
    /// because the letter has none.
    pub fn last_known(&self) -> Option<Arc<Object>> {
        last_known(&self.object, &self.uid, &self.resource_version, &self.labels)
    }
}

impl Letter for DeadLetter {
    type Id = ObjectRef;

    fn id(&self) -> &ObjectRef {
        &self.object
    }

    fn at(&self) -> SystemTime {
        self.at
    }
}

// === impl DroppedKey ===

impl DroppedKey {
    pub(crate) fn new(key: Arc<str>, attempts: u32, failure: Failure) -> Self {
        Self { key, attempts, failure: cut(failure), at: SystemTime::now() }
    }
}

impl Letter for DroppedKey {
    type Id = Arc<str>;

    fn id(&self) -> &Arc<str> {
        &self.key
    }

    fn at(&self) -> SystemTime {
        self.at
    }
}

/// An object with only these fields.
pub(crate) fn last_known(
    ObjectRef { source, key }: &ObjectRef,
    uid: &str,
    resource_version: &str,
    labels: &[(Box<str>, Box<str>)],
) -> Option<Arc<Object>> {
    let labels = || labels.iter().map(|(key, value)| (&**key, &**value));
    let header = Header {
        namespace: Arc::clone(&key.namespace),
        name: (&*key.name).into(),
        uid: uid.into(),
        resource_version: resource_version.into(),
        labels: labels().map(|(key, value)| (key.into(), value.into())).collect(),
        ..Header::default()
    };
    let gvr = source.gvr();
    let api_version = [gvr.group.as_str(), gvr.version.as_str()].into_iter().filter(|part| !part.is_empty());
    let json = serde_json::json!({
        "apiVersion": api_version.collect::<Vec<_>>().join("/"),
        "metadata": {
            "namespace": &*key.namespace, "name": &*key.name, "uid": uid,
            "resourceVersion": resource_version,
            "labels": labels().collect::<BTreeMap<_, _>>(),
        },
    });
    // The header fits: it was the header of an object before.
    Object::new(&header, Body::Raw(json.to_string().into())).ok().map(Arc::new)
}

/// All labels, or none if they are too long.
fn labels(object: &Object) -> Vec<(Box<str>, Box<str>)> {
    let bytes: usize = object.labels().map(|(key, value)| key.len() + value.len()).sum();
    let labels = object.labels().filter(|_| bytes <= MAX_LABEL_BYTES);
    labels.map(|(key, value)| (key.into(), value.into())).collect()
}

#[cfg(test)]
mod tests;
