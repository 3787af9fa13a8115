//! Objects and what is told of them.

use std::{sync::Arc, time::Instant};

use informer_types::{Body, Cause, Change, Header, Notification, Object, Source};

/// A state of an object.
pub(crate) fn object(name: usize, version: usize) -> Arc<Object> {
    let header = Header {
        namespace: "shop".into(),
        name: format!("pod-{name}").into(),
        uid: name.to_string().into(),
        resource_version: version.to_string().into(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
}

pub(crate) fn version(object: &Object) -> usize {
    object.resource_version().parse().unwrap()
}

pub(crate) fn source() -> Source {
    Source::new("v1/pods".parse().unwrap())
}

/// The change of an object to the next version.
pub(crate) fn update(name: usize, to: usize) -> Change {
    Change::Updated { old: object(name, to - 1), new: object(name, to) }
}

pub(crate) fn told(change: Change) -> Notification {
    Notification {
        source: source(),
        change,
        cause: Cause::Live,
        initial: None,
        observed: Instant::now().into(),
    }
}
