//! The metadata of an object, as the guest receives it.

use informer_types::Object;

use crate::bindings::informer::plugin::types::{ObjectMeta, Owner};

/// Copies the fields that handlers read most often.
pub(crate) fn of(object: &Object) -> ObjectMeta {
    ObjectMeta {
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        uid: object.uid().to_owned(),
        resource_version: object.resource_version().to_owned(),
        creation_timestamp: object.creation_timestamp().to_owned(),
        deleting: object.deletion_timestamp().is_some(),
        labels: object.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        controller: object.controller().map(|owner| Owner {
            api_version: owner.api_version.into_owned(),
            kind: owner.kind.into_owned(),
            name: owner.name.into_owned(),
            uid: owner.uid.into_owned(),
        }),
    }
}

/// The bytes of all strings, for the limit on answers.
pub(super) fn bytes(meta: &ObjectMeta) -> usize {
    let labels: usize = meta.labels.iter().map(|(key, value)| key.len() + value.len()).sum();
    meta.namespace.len() + meta.name.len() + meta.uid.len() + meta.resource_version.len() + labels
}
