//! PATCH with `application/apply-patch+yaml`: server-side apply.

use axum::response::Response;
use http::StatusCode;
use serde_json::Value;

use super::{ApiRequest, body, json};
use crate::{
    encode,
    managed_fields::{self, Writer},
    negotiate,
    object::Object,
    rest::{self, WriteOptions},
    status::{ApiError, ApiResult, Cause},
    storage::ObjectKey,
};

pub(super) const MEDIA_TYPE: &str = "application/apply-patch+yaml";

/// Creates the object or applies to the one that is there. Every JSON document is YAML, and clients
/// send JSON; other YAML is refused.
pub(super) fn apply(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    let config = config(request, name)?;
    let manager = request.query.get("fieldManager").ok_or_else(|| {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        ApiError::invalid("meta.k8s.io", "PatchOptions", "", &[cause])
    })?;
    let force = request.query.flag("force")? == Some(true);
    let key = ObjectKey::new(request.namespace(), name);
    let api_version = resource.api_version();
    let writer = Writer {
        manager,
        api_version: &api_version,
        subresource: request.subresource.as_deref().unwrap_or_default(),
        layout: resource.layout(),
    };
    let dry_run = request.query.dry_run()?;
    let options = WriteOptions { part: request.part(), dry_run, manager: None };
    let exists = request.api.collection(resource).get(&key).is_some();
    if !exists && !request.is_status() {
        let object = managed_fields::apply_new(&config, writer);
        match rest::create(&request.api, resource, request.namespace(), object, dry_run) {
            // Somebody else created it in between: then there is something to apply to.
            Err(error) if error.code() == StatusCode::CONFLICT => {}
            created => {
                let mut response = json(encode::object(resource, view, &*created?));
                *response.status_mut() = StatusCode::CREATED;
                return Ok(response);
            }
        }
    }
    let applied = rest::update(&request.api, resource, &key, &options, |live| {
        managed_fields::apply(live, &config, writer, force).map_err(|conflicts| conflicts.to_error())
    })?;
    Ok(json(encode::object(resource, view, &applied)))
}

fn config(request: &ApiRequest, name: &str) -> ApiResult<Object> {
    let mut document = body::fields(&request.body)?;
    drop_nulls(&mut document);
    let mut config = request.object(document)?;
    if config.metadata.contains_key("managedFields") {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    if config.name().is_empty() {
        config.metadata.insert("name".into(), name.into());
    } else if config.name() != name {
        return Err(ApiError::bad_request(format!(
            "name in URL does not match name in PATCH body: {name}, {}",
            config.name()
        )));
    }
    Ok(config)
}

/// A field without a value is a field the configuration does not mention.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
