//! What the templates of all kinds have in common.

use std::ops::Range;

use super::identity::{Container, Identity};

/// Renders the objects of one kind.
pub(crate) trait Render {
    /// The containers or steps of each object, in the order of [`Identity::containers`].
    fn containers(&self) -> &[Container];

    /// Writes an object up to the value of its last field. Returns the position of the resource version in `into`.
    fn head(&self, identity: &Identity, into: &mut String) -> Range<usize>;

    /// Writes the value of the last field: the listed one, or the one after an event.
    fn state(&self, identity: &Identity, changed: bool, into: &mut String);
}

/// Writes `{"metadata":{...}` with one manager of fields. Returns the position of the resource version in `into`.
pub(super) fn metadata(identity: &Identity, managed: &str, into: &mut String) -> Range<usize> {
    let Identity { namespace, name, uid, resource_version, created, app, team, owner, owner_uid, .. } =
        identity;
    into.push_str(&format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{uid}","resourceVersion":""#
    ));
    let start = into.len();
    into.push_str(resource_version);
    let version = start..into.len();
    into.push_str(&format!(
        r#"","creationTimestamp":"{created}","labels":{{"app.kubernetes.io/name":"{app}","example.com/team":"{team}"}},"ownerReferences":[{{"apiVersion":"bench.example.com/v1","kind":"Release","name":"{owner}","uid":"{owner_uid}","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{managed}]}}"#
    ));
    version
}

/// The position of the value of `managedFields`, which is the last field of an object's metadata.
pub(super) fn managed_fields(head: &str) -> Option<Range<usize>> {
    const FIELD: &str = r#""managedFields":"#;
    let start = head.find(FIELD)? + FIELD.len();
    let length = head.get(start..)?.find("}]}")? + "}]".len();
    Some(start..start + length)
}
