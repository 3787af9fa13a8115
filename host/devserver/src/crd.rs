//! The rules of CustomResourceDefinitions: what they define, their defaults and their validation.
//!
//! Schemas are neither published nor enforced: custom objects are stored as they are sent. The only conversion
//! between versions is the change of `apiVersion` (strategy `None`).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    api::Api,
    object::Object,
    registry::{CollectionId, Resource},
    status::{ApiError, ApiResult},
    storage::ObjectKey,
};

mod definition;
mod validation;

pub(crate) use definition::{accept, resources};
pub(crate) use validation::validate;

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";

/// The finalizer that holds a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The resource of definitions.
pub(crate) fn resource(api: &Api) -> ApiResult<Arc<Resource>> {
    api.builtin(GROUP, "v1", PLURAL)
}

pub(crate) fn is_definition(resource: &Resource) -> bool {
    resource.is(GROUP, PLURAL)
}

/// The key of the definition that defines this collection.
pub(crate) fn key(id: &CollectionId) -> ObjectKey {
    ObjectKey::new("", format!("{}.{}", id.plural, id.group))
}

/// The collection that a definition defines.
pub(crate) fn collection_id(definition: &Object) -> Option<CollectionId> {
    let text = |path: &[&str]| definition.at(path).and_then(Value::as_str).map(str::to_owned);
    Some(CollectionId { group: text(&["spec", "group"])?, plural: text(&["spec", "names", "plural"])? })
}

/// Fills in fields that the definition leaves out.
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
    match api.collection(&*self::resource(api)?).get(&key(&resource.id())) {
        Some(stored) if !stored.is_deleting() => Ok(()),
        _ => Err(ApiError::method_not_allowed()),
    }
}
