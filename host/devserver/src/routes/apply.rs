//! PATCH with `application/apply-patch+yaml`: server-side apply.

use axum::response::Response;
use http::StatusCode;
use serde_json::Value;

use super::request::ApiRequest;
use crate::{
    managed_fields::{self, Writer},
    negotiate,
    object::Object,
    rest::{self, WriteOptions},
    status::{ApiError, ApiResult, Cause},
};

pub(super) const MEDIA_TYPE: &str = "application/apply-patch+yaml";

/// Creates the object or applies the configuration to the existing one. The body must be JSON, which is also
/// valid YAML and what clients send; other YAML is refused.
pub(super) fn apply(request: &ApiRequest, name: &str) -> ApiResult<Response> {
    let view = negotiate::view(&request.headers)?;
    let resource = &request.resource;
    let config = config(request, name)?;
    let manager = request.query.get("fieldManager").ok_or_else(|| {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        ApiError::invalid("meta.k8s.io", "PatchOptions", "", &[cause])
    })?;
    let force = request.query.flag("force")? == Some(true);
    let key = request.key(name);
    let api_version = resource.api_version();
    let writer = Writer {
        manager,
        api_version: &api_version,
        subresource: request.subresource.as_deref().unwrap_or_default(),
        layout: resource.layout(),
    };
    let dry_run = request.query.dry_run()?;
    let options = WriteOptions { part: request.part(), dry_run, manager: None };
    let exists = request.collection().get(&key).is_some();
    if !exists && !request.is_status() {
        let object = managed_fields::apply_new(&config, writer);
        match rest::create(&request.api, resource, request.namespace(), object, dry_run) {
            // Another client created the object in the meantime, so apply to that object.
            Err(error) if error.code() == StatusCode::CONFLICT => {}
            created => return Ok(request.answer_created(view, &*created?)),
        }
    }
    let applied = rest::update(&request.api, resource, &key, &options, |live| {
        managed_fields::apply(live, &config, writer, force).map_err(|conflicts| conflicts.to_error())
    })?;
    Ok(request.answer(view, &applied))
}

fn config(request: &ApiRequest, name: &str) -> ApiResult<Object> {
    let mut document = request.fields()?;
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

/// Removes fields that are `null`: a configuration does not mention them.
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
