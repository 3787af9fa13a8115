//! Notifications that were given up.

mod letters;
mod store;

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use informer_types::{Body, Cause, Failure, Header, Object};

pub use letters::Letter;
pub(crate) use letters::Letters;
pub use store::{DeadLetterKeeper, DeadLetterStore, LetterBox};

use crate::{ObjectRef, entry::Entry};

/// Dead letters are bounded in number, so what each may hold is bounded too. A stack trace fits.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Labels of a letter, keys and values; more are left out, all of them.
const MAX_LABEL_BYTES: usize = 16 << 10;

/// What is known of a notification that was given up. The object itself is not kept: it may be large, it may be
/// a Secret, and the cache has a newer one. Nor are its annotations: `kubectl apply` writes whole objects there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The object it was about.
    pub object: ObjectRef,
    /// `add`, `update` or `delete`.
    pub verb: &'static str,
    /// Why it was told.
    pub cause: Cause,
    /// Of the object.
    pub uid: Box<str>,
    /// Of the newest state in it, verbatim.
    pub resource_version: Box<str>,
    /// Of the object.
    pub labels: Vec<(Box<str>, Box<str>)>,
    /// Calls made for it.
    pub attempts: u32,
    /// Why the last one failed; the message is cut at 4 KiB.
    pub failure: Failure,
    /// When it was given up.
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
            uid: state.uid().into(),
            resource_version: state.resource_version().into(),
            labels: labels(state),
            attempts: entry.attempts,
            failure: cut(failure),
            at: SystemTime::now(),
        }
    }

    /// What is left of the object, for telling its deletion again: what identifies it, and its labels. The JSON has no
    /// `kind`, which nobody kept.
    pub fn last_known(&self) -> Option<Arc<Object>> {
        let key = &self.object.key;
        let labels = || self.labels.iter().map(|(key, value)| (&**key, &**value));
        let header = Header {
            namespace: Arc::clone(&key.namespace),
            name: (&*key.name).into(),
            uid: (&*self.uid).into(),
            resource_version: (&*self.resource_version).into(),
            labels: labels().map(|(key, value)| (key.into(), value.into())).collect(),
            ..Header::default()
        };
        let gvr = self.object.source.gvr();
        let api_version =
            [gvr.group.as_str(), gvr.version.as_str()].into_iter().filter(|part| !part.is_empty());
        let json = serde_json::json!({
            "apiVersion": api_version.collect::<Vec<_>>().join("/"),
            "metadata": {
                "namespace": &*key.namespace, "name": &*key.name, "uid": &*self.uid,
                "resourceVersion": &*self.resource_version,
                "labels": labels().collect::<BTreeMap<_, _>>(),
            },
        });
        // It fits: it was the header of an object before.
        Object::new(&header, Body::Raw(json.to_string().into())).ok().map(Arc::new)
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

/// None of them where they are too many.
fn labels(object: &Object) -> Vec<(Box<str>, Box<str>)> {
    let bytes: usize = object.labels().map(|(key, value)| key.len() + value.len()).sum();
    let labels = object.labels().filter(|_| bytes <= MAX_LABEL_BYTES);
    labels.map(|(key, value)| (key.into(), value.into())).collect()
}

/// Cuts the message of a failure that is kept.
pub(crate) fn cut(mut failure: Failure) -> Failure {
    let end = failure.message.floor_char_boundary(MAX_MESSAGE_BYTES);
    failure.message.truncate(end);
    failure
}

#[cfg(test)]
mod tests;
