//! Finalizers and owner references.

use serde_json::{Map, Value, json};

use crate::client::{ApiCode, WriteOptions, modify};
use crate::{Failure, ObjectKey};

/// Why an object cannot belong to an owner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// The owner lacks a part of its identity.
    #[error("the owner has no {0}")]
    Incomplete(&'static str),
    /// The value is no object, because it has no metadata.
    #[error("the object has no metadata")]
    NoMetadata,
    /// The object has another controller.
    #[error("{object} is controlled by {controller}")]
    Controlled {
        /// The key of the object.
        object: String,
        /// The kind and name of its controller.
        controller: String,
    },
    /// An owner with a namespace can own objects of that namespace only.
    #[error("the owner {owner} is in another namespace than {object}")]
    OtherNamespace {
        /// The key of the owner.
        owner: String,
        /// The key of the object.
        object: String,
    },
}

/// Keeps a finalizer on an object that lives, and cleans up when the object is deleted.
///
/// Returns true if the object lives and has the finalizer: go on with your work. Returns false if the object is being deleted. Then
/// `cleanup` was called and the finalizer is removed, unless an earlier call has done this. If `cleanup` fails, the finalizer stays and the
/// call is repeated, so `cleanup` may be called several times for an object. If the object was deleted after the state in `object`, a
/// finalizer would come too late: the result is false, and `cleanup` is not called.
///
/// `object` is the parsed object, for example from [`lister::get`](crate::lister::get). `finalizer` is a name with a domain of yours, such
/// as `example.com/cleanup`. The plugin needs the resource in `read`, and its verb `update` in `write` of the grant. If the plugin declares
/// the fields that it reads, `/metadata/finalizers` must be one of them.
///
/// ```no_run
/// use informer_sdk::{ObjectKey, Result, lister, metadata};
/// use serde_json::Value;
///
/// const QUEUES: &str = "example.com/v1/queues";
///
/// fn reconcile(key: &ObjectKey) -> Result {
///     let Some(queue) = lister::get::<Value>(QUEUES, key)? else { return Ok(()) };
///     let lives = metadata::finalize(QUEUES, &queue, "example.com/cleanup", |queue| {
///         // Remove what belongs to the queue outside the cluster.
///         let _ = &queue["spec"];
///         Ok(())
///     })?;
///     if lives {
///         // Create and repair.
///     }
///     Ok(())
/// }
/// ```
///
/// # Errors
/// Returns the failure of `cleanup` or of a request.
pub fn finalize(
    gvr: &str,
    object: &Value,
    finalizer: &str,
    cleanup: impl FnOnce(&Value) -> crate::Result,
) -> crate::Result<bool> {
    let lives = at(object, "/metadata/deletionTimestamp").is_null();
    if lives == has(object, finalizer) {
        // The object lives and has the finalizer, or it is being deleted and has lost the finalizer.
        return Ok(lives);
    }
    if !lives {
        cleanup(object)?;
    }
    let key = key_of(object);
    let modified = modify(gvr, &key, &WriteOptions::new(), |current| {
        // The object may be deleted by now, and the API server then refuses new finalizers. A new object may have its name.
        if has(current, finalizer) == lives || !is_same(current, object) {
            return;
        }
        let mut names = at(current, "/metadata/finalizers").as_array().cloned().unwrap_or_default();
        if lives {
            names.push(finalizer.into());
        } else {
            names.retain(|name| name != finalizer);
        }
        if let Some(metadata) = metadata(current) {
            metadata.insert("finalizers".to_owned(), names.into());
        }
    });
    match modified {
        Ok(now) => Ok(lives && has(&now, finalizer) && is_same(&now, object)),
        // The object is gone, so it has no finalizer.
        Err(error) if !lives && error.api_code() == Some(ApiCode::NotFound) => Ok(false),
        Err(error) => Err(Failure::from(error)),
    }
}

/// The entry of `metadata.ownerReferences` that names an owner as the controller. If the owner is deleted in the foreground, this
/// entry keeps the owner until the object is gone (`blockOwnerDeletion`).
///
/// # Errors
/// [`OwnerError::Incomplete`] if the owner has no `apiVersion`, `kind`, name or UID.
pub fn owner_reference(owner: &Value) -> Result<Value, OwnerError> {
    let part = |pointer: &str, name| match at(owner, pointer).as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(OwnerError::Incomplete(name)),
    };
    Ok(json!({
        "apiVersion": part("/apiVersion", "apiVersion")?,
        "kind": part("/kind", "kind")?,
        "name": part("/metadata/name", "name")?,
        "uid": part("/metadata/uid", "uid")?,
        "controller": true,
        "blockOwnerDeletion": true,
    }))
}

/// Makes an object belong to an owner: the garbage collector of Kubernetes deletes it after the owner. Nothing is sent.
///
/// # Errors
/// [`OwnerError`] if the object has another controller or no metadata, the two are in different namespaces, or the owner is
/// incomplete.
pub fn set_owner(object: &mut Value, owner: &Value) -> Result<(), OwnerError> {
    let reference = owner_reference(owner)?;
    let mut references = at(object, "/metadata/ownerReferences").as_array().cloned().unwrap_or_default();
    references.retain(|other| other.get("uid") != reference.get("uid"));
    if let Some(other) = references.iter().find(|other| at(other, "/controller") == true) {
        let controller = format!("{} {}", text(other, "/kind"), text(other, "/name"));
        return Err(OwnerError::Controlled { object: key_of(object).to_string(), controller });
    }
    let (owner_key, key) = (key_of(owner), key_of(object));
    if !owner_key.namespace.is_empty() && owner_key.namespace != key.namespace {
        return Err(OwnerError::OtherNamespace { owner: owner_key.to_string(), object: key.to_string() });
    }
    references.push(reference);
    let metadata = metadata(object).ok_or(OwnerError::NoMetadata)?;
    metadata.insert("ownerReferences".to_owned(), references.into());
    Ok(())
}

fn has(object: &Value, finalizer: &str) -> bool {
    let names = at(object, "/metadata/finalizers").as_array();
    names.is_some_and(|names| names.iter().any(|name| name == finalizer))
}

/// Returns true if the object is still the same one, as alive as it was, and no new one with its name.
fn is_same(current: &Value, object: &Value) -> bool {
    let lives = |object| at(object, "/metadata/deletionTimestamp").is_null();
    at(current, "/metadata/uid") == at(object, "/metadata/uid") && lives(current) == lives(object)
}

fn key_of(object: &Value) -> ObjectKey {
    ObjectKey::new(text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.as_object_mut()
}

/// The value at a pointer; null if there is none.
fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    at(value, pointer).as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestHost;

    const GVR: &str = "v1/configmaps";
    const MINE: &str = "example.com/cleanup";

    fn object(finalizers: &[&str], deleted: bool) -> Value {
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "shop", "name": "a", "uid": "u1", "resourceVersion": "1", "finalizers": finalizers},
        });
        if deleted {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        object
    }

    fn finalizers(key: &ObjectKey) -> Value {
        crate::client::get::<Value>(GVR, key).unwrap()["metadata"]["finalizers"].clone()
    }

    #[test]
    fn a_living_object_gets_the_finalizer_once() {
        let host = TestHost::new();
        let without = object(&["other"], false);
        host.store(GVR, without.clone());
        let never = |_: &Value| Err(Failure::retry("not to be cleaned up"));

        assert!(finalize(GVR, &without, MINE, never).unwrap());

        assert_eq!(finalizers(&key_of(&without)), json!(["other", MINE]));
        let sent = host.requests().len();
        assert!(finalize(GVR, &object(&[MINE], false), MINE, never).unwrap());
        assert_eq!(host.requests().len(), sent, "nothing more is sent");
    }

    #[test]
    fn a_deleted_object_loses_the_finalizer_after_the_cleanup() {
        let host = TestHost::new();
        let deleted = object(&["other", MINE], true);
        host.store(GVR, deleted.clone());

        let failed = finalize(GVR, &deleted, MINE, |_| Err(Failure::retry("not yet")));
        assert!(failed.is_err() && host.requests().is_empty(), "the finalizer stays");

        let mut cleaned = 0;
        let clean = |_: &Value| {
            cleaned += 1;
            Ok(())
        };
        host.fail_write(ApiCode::Conflict, "modified");
        assert!(!finalize(GVR, &deleted, MINE, clean).unwrap());
        assert_eq!((cleaned, finalizers(&key_of(&deleted))), (1, json!(["other"])));
        let never = |_: &Value| Err(Failure::retry("it was cleaned up"));
        assert!(!finalize(GVR, &object(&["other"], true), MINE, never).unwrap());
    }

    /// The plugin must not create what it could not clean up.
    #[test]
    fn an_object_that_was_deleted_meanwhile_gets_no_finalizer_and_does_not_live() {
        let host = TestHost::new();
        let mut replaced = object(&[], false);
        replaced["metadata"]["uid"] = json!("u2");
        for present in [object(&["other"], true), replaced] {
            host.store(GVR, present.clone());
            let never = |_: &Value| Err(Failure::retry("not to be cleaned up"));

            assert!(!finalize(GVR, &object(&["other"], false), MINE, never).unwrap());

            assert_eq!(finalizers(&key_of(&present)), present["metadata"]["finalizers"]);
        }
    }

    #[test]
    fn an_object_that_is_gone_after_the_cleanup_is_no_failure() {
        let _host = TestHost::new();
        let mut cleaned = false;
        let clean = |_: &Value| {
            cleaned = true;
            Ok(())
        };

        assert!(!finalize(GVR, &object(&[MINE], true), MINE, clean).unwrap());

        assert!(cleaned);
    }

    #[test]
    fn a_new_object_of_the_same_name_keeps_its_finalizers() {
        let host = TestHost::new();
        let mut new = object(&[MINE], false);
        new["metadata"]["uid"] = json!("u2");
        host.store(GVR, new);

        assert!(!finalize(GVR, &object(&[MINE], true), MINE, |_| Ok(())).unwrap());
        assert_eq!(finalizers(&ObjectKey::new("shop", "a")), json!([MINE]));
        assert!(host.requests().is_empty());
    }

    #[test]
    fn an_object_belongs_to_one_controller_of_its_namespace() {
        let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": "web", "uid": "u9"}});
        let mut owned = object(&[], false);

        set_owner(&mut owned, &owner).unwrap();
        set_owner(&mut owned, &owner).unwrap();

        let reference = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u9",
            "controller": true, "blockOwnerDeletion": true,
        });
        assert_eq!(owned["metadata"]["ownerReferences"], json!([reference]));
        let mut other = owner.clone();
        other["metadata"]["uid"] = json!("u10");
        let refused = set_owner(&mut owned, &other).unwrap_err();
        assert_eq!(refused.to_string(), "shop/a is controlled by Deployment web");
        let mut far = object(&[], false);
        far["metadata"]["namespace"] = json!("default");
        let refused = set_owner(&mut far, &owner).unwrap_err();
        assert_eq!(refused.to_string(), "the owner shop/web is in another namespace than default/a");
        let cluster_scoped =
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}});
        assert_eq!(set_owner(&mut json!("text"), &cluster_scoped), Err(OwnerError::NoMetadata));
        assert_eq!(owner_reference(&json!({"kind": "x"})), Err(OwnerError::Incomplete("apiVersion")));
    }
}
