//! CustomResourceDefinitions: they start to serve when they are created and stop when they go.
//!
//! Schemas are neither published nor enforced: objects are stored as they are sent. There is no
//! conversion but the change of `apiVersion` (strategy `None`).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    api::Api,
    object::Object,
    registry::{CollectionId, Resource},
    rest::{self, DeleteOptions, Done},
    status::{ApiError, ApiResult},
    storage::{ObjectKey, Stored},
};

mod definition;
mod validation;

pub(crate) use validation::validate;

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";

/// Holds a definition until its objects are gone.
const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// After a definition was created or changed: serves what it says now, and says so in its status.
///
/// # Errors
/// As an update: the definition may have been deleted in the meantime.
pub(crate) fn written(api: &Api, resource: &Arc<Resource>, stored: &Stored) -> ApiResult<Option<Done>> {
    let object = stored.decode(resource);
    let Some(id) = collection_id(&object) else { return Ok(None) };
    api.registry.replace_custom(&id.group, &id.plural, definition::resources(&object));
    let accepted = rest::update_alone(api, resource, &stored.key, &rest::INTERNAL, |current| {
        let mut accepted = current.clone();
        definition::accept(&mut accepted);
        if !current.is_deleting() {
            accepted.add_finalizer(FINALIZER);
        }
        Ok(accepted)
    })?;
    Ok(accepted.1)
}

/// Deletes the objects of a definition that is being deleted.
pub(crate) fn empty(api: &Api, resource: &Arc<Resource>, stored: &Stored) -> Vec<Done> {
    let object = stored.decode(resource);
    let mut work = Vec::new();
    if let Some(custom) = collection_id(&object).and_then(|id| api.registry.by_id(&id)) {
        for object in api.collection(&custom).snapshot(None).objects {
            let deleted = rest::delete_alone(api, &custom, &object.key, &DeleteOptions::default());
            work.extend(rest::report(deleted.map(|(_, done)| done)));
        }
    }
    work
}

/// Lets the definition of these objects go, if it is being deleted and they are gone.
///
/// # Errors
/// As an update.
pub(crate) fn release_if_empty(api: &Api, id: &CollectionId) -> ApiResult<Option<Done>> {
    let definitions = api.builtin(GROUP, "v1", PLURAL)?;
    let key = ObjectKey::new("", format!("{}.{}", id.plural, id.group));
    let Some(stored) = api.collection(&definitions).get(&key) else { return Ok(None) };
    if !stored.is_deleting() || !api.storage.collection(id).is_empty() {
        return Ok(None);
    }
    let released = rest::update_alone(api, &definitions, &key, &rest::INTERNAL, |current| {
        let mut released = current.clone();
        released.remove_finalizer(FINALIZER);
        Ok(released)
    })?;
    Ok(released.1)
}

/// After a definition is gone: its resource is served no more, watches of it end.
pub(crate) fn removed(api: &Api, resource: &Resource, stored: &Stored) {
    if let Some(id) = collection_id(&stored.decode(resource)) {
        api.registry.replace_custom(&id.group, &id.plural, Vec::new());
        api.storage.drop_collection(&id);
    }
}

/// The collection that a definition defines.
pub(crate) fn collection_id(definition: &Object) -> Option<CollectionId> {
    let text = |path: &[&str]| definition.at(path).and_then(Value::as_str).map(str::to_owned);
    Some(CollectionId { group: text(&["spec", "group"])?, plural: text(&["spec", "names", "plural"])? })
}

/// Fills in what the definition left out.
pub(crate) fn defaults(definition: &mut Object) {
    let kind = definition.at(&["spec", "names", "kind"]).and_then(Value::as_str).map(str::to_owned);
    if let Some(kind) = kind {
        definition.default_at(&["spec", "names", "singular"], kind.to_ascii_lowercase().into());
        definition.default_at(&["spec", "names", "listKind"], format!("{kind}List").into());
    }
    definition.default_at(&["spec", "conversion"], json!({"strategy": "None"}));
}

/// Refuses new objects of a definition that is being deleted.
///
/// # Errors
/// 405, as kube-apiserver.
pub(crate) fn check_open(api: &Api, resource: &Resource) -> ApiResult<()> {
    if !resource.custom {
        return Ok(());
    }
    let definitions = api.builtin(GROUP, "v1", PLURAL)?;
    let key = ObjectKey::new("", format!("{}.{}", resource.plural, resource.group));
    match api.collection(&definitions).get(&key) {
        Some(stored) if !stored.is_deleting() => Ok(()),
        _ => Err(ApiError::method_not_allowed()),
    }
}
