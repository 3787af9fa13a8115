//! Objects are read, created, replaced and deleted here.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use super::{list, request::ApiRequest};
use crate::{
    answer, consequence,
    encode::{self, ListMeta},
    object::{Object, set},
    registry::Resource,
    status::{ApiError, ApiResult},
    storage::ObjectKey,
    write::{self, Change, ChangeKind, DeleteOptions, Propagation},
};

/// GET of one object.
pub(super) async fn get(request: &ApiRequest) -> ApiResult<Response> {
    let view = request.view()?;
    if let Some(rv) = request.query.number("resourceVersion")? {
        list::wait_for(&request.api, rv).await?;
    }
    Ok(request.answer(view, &*request.stored()?))
}

/// POST of an object.
pub(super) fn create(request: &ApiRequest) -> ApiResult<Response> {
    let view = request.view()?;
    let mut object = request.sent_object()?;
    // The server tracks field owners itself and ignores what a client claims about them.
    object.metadata.remove("managedFields");
    Ok(request.answer_created(view, &*request.create(object)?))
}

/// POST of a self review ("who am I?", "may I?"): every client is the developer, who may do everything.
pub(super) fn review(request: &ApiRequest) -> ApiResult<Response> {
    let mut review = request.sent_object()?;
    let status = match request.resource.plural.as_str() {
        "selfsubjectreviews" => {
            json!({"userInfo": {"username": "developer", "groups": ["system:masters", "system:authenticated"]}})
        }
        _ => json!({"allowed": true, "reason": "the development server has no authorization"}),
    };
    review.fields.insert("status".into(), status);
    Ok(answer::json_with_status(StatusCode::CREATED, review.into_value().to_string()))
}

/// PUT of an object or its status.
pub(super) fn replace(request: &ApiRequest) -> ApiResult<Response> {
    let object = read(request)?;
    let view = request.view()?;
    let updated = request.update(|_| Ok(object.clone()))?;
    Ok(request.answer(view, &updated))
}

/// `PUT /api/v1/namespaces/{name}/finalize` sets `spec.finalizers` and no other field.
pub(super) fn finalize(request: &ApiRequest) -> ApiResult<Response> {
    let object = read(request)?;
    let view = request.view()?;
    let finalizers = object.at(&["spec", "finalizers"]).cloned().unwrap_or_else(|| json!([]));
    let updated = request.update(|current| {
        let mut changed = current.clone();
        changed.set_at(&["spec", "finalizers"], finalizers.clone());
        Ok(changed)
    })?;
    Ok(request.answer(view, &updated))
}

/// The object in the body.
///
/// # Errors
/// 400 if it is not an object of this resource or has another name than the path.
fn read(request: &ApiRequest) -> ApiResult<Object> {
    let object = request.sent_object()?;
    match (object.name(), request.name()) {
        (found, name) if found == name => Ok(object),
        ("", _) => Err(ApiError::bad_request("name must be provided")),
        (found, name) => Err(ApiError::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        ))),
    }
}

/// DELETE of one object.
pub(super) fn delete(request: &ApiRequest) -> ApiResult<Response> {
    let view = request.view()?;
    let resource = &request.resource;
    let deleted = delete_one(request, &request.key(), &delete_options(request)?)?;
    if deleted.kind != ChangeKind::Removed {
        return Ok(request.answer(view, &deleted.object));
    }
    let mut details = json!({"name": request.name(), "kind": resource.plural, "uid": deleted.object.uid});
    if !resource.group.is_empty() {
        set(&mut details, "group", resource.group.as_str());
    }
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    });
    Ok(answer::json(status.to_string()))
}

/// DELETE of every object that matches the selectors. Answers with a list of their last states.
pub(super) fn delete_collection(request: &ApiRequest) -> ApiResult<Response> {
    let view = request.view()?;
    let options = delete_options(request)?;
    let filter = request.filter()?;
    let snapshot = request.collection().snapshot(request.target.namespace.as_deref());
    let mut deleted = Vec::new();
    for object in snapshot.objects.iter().filter(|object| filter.matches(object)) {
        match delete_one(request, &object.key, &options) {
            Ok(change) => deleted.push(change.object),
            // Another request deleted the object first.
            Err(error) if error.code() == StatusCode::NOT_FOUND => {}
            Err(error) => return Err(error),
        }
    }
    let meta = ListMeta { rv: request.api.storage.revision.current(), ..ListMeta::default() };
    let objects = deleted.iter().map(|object| &**object);
    Ok(answer::json(encode::list(&request.resource, view, &meta, objects)))
}

fn delete_one(request: &ApiRequest, key: &ObjectKey, options: &DeleteOptions) -> ApiResult<Change> {
    consequence::settle(&request.api, write::delete(&request.api, &request.resource, key, options))
}

/// The options of a deletion: from the body, and from the query for what the body leaves out.
fn delete_options(request: &ApiRequest) -> ApiResult<DeleteOptions> {
    let document = if request.body.is_empty() { json!({}) } else { request.document()? };
    if !matches!(document, Value::Null | Value::Object(_)) {
        return Err(ApiError::bad_request("the body of a deletion must be DeleteOptions"));
    }
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let policy =
        text("/propagationPolicy").or_else(|| request.query.get("propagationPolicy").map(str::to_owned));
    let orphan = document.get("orphanDependents").and_then(Value::as_bool);
    let orphan =
        orphan.or_else(|| (policy.is_none() && orphans_by_default(&request.resource)).then_some(true));
    let dry_run = document.get("dryRun").and_then(Value::as_array).is_some_and(|runs| !runs.is_empty());
    Ok(DeleteOptions {
        propagation: Propagation::parse(policy.as_deref(), orphan)?,
        uid: text("/preconditions/uid"),
        resource_version: text("/preconditions/resourceVersion"),
        dry_run: dry_run || request.query.dry_run()?,
    })
}

/// Returns true if a deletion without a policy leaves the dependents, as kube-apiserver does for these two resources.
fn orphans_by_default(resource: &Resource) -> bool {
    resource.is("batch", "jobs") || resource.is("", "replicationcontrollers")
}
