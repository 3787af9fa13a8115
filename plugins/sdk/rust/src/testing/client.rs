//! Requests: the cache is also the server, so the cache shows each write at once.
#![expect(clippy::needless_pass_by_value, reason = "the signatures are those of the imports")]

use serde_json::Value;

use super::lists::Selected;
use super::state::{Request, meta, with_state};
use crate::bindings::informer::plugin::client::{
    ApiCode, ApiError, DeleteOptions, ListOptions, ObjectEvent, ObjectPage, PatchKind, WriteOptions,
};
use crate::bindings::informer::plugin::types::ObjectKey;

/// The fields of the metadata that only the server writes. A request does not change them.
const OF_SERVER: [&str; 3] = ["uid", "creationTimestamp", "deletionTimestamp"];

pub(crate) fn get(gvr: &str, key: &ObjectKey, _subresource: &str) -> Result<String, ApiError> {
    next_failure()?;
    find(gvr, key).map(|object| object.to_string())
}

pub(crate) fn list_objects(gvr: &str, options: ListOptions<'_>) -> Result<ObjectPage, ApiError> {
    next_failure()?;
    let selected = Selected::parse(options.namespace, options.labels, options.fields)
        .map_err(|problem| error(ApiCode::Invalid, 400, problem))?;
    with_state(|state| {
        let objects = match options.token {
            None => selected.of(state.resource(gvr)).cloned().collect(),
            Some(token) => state.live_lists.rest(token).ok_or_else(|| {
                error(ApiCode::Gone, 410, "the test host made no such page token".to_owned())
            })?,
        };
        let (objects, next) = state.live_lists.page(objects, options.limit);
        let items = objects.iter().map(Value::to_string).collect();
        Ok(ObjectPage { items, next, resource_version: String::new() })
    })
}

pub(crate) fn create(
    gvr: &str,
    namespace: &str,
    object: &str,
    options: WriteOptions<'_>,
) -> Result<String, ApiError> {
    let mut object = parse(object)?;
    let sent = meta(&object);
    note("create", gvr, &ObjectKey::new(namespace, sent.name.as_str()), &object, options.dry_run);
    next_write_failure()?;
    if !sent.resource_version.is_empty() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(error(ApiCode::Invalid, 400, message.to_owned()));
    }
    let key = ObjectKey::new(namespace, name_of_new(&object)?);
    if find(gvr, &key).is_ok() {
        return Err(error(ApiCode::AlreadyExists, 409, format!("{gvr} {key} already exists")));
    }
    if let Some(object) = object.as_object_mut() {
        let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Default::default()));
        merge(metadata, &serde_json::json!({"namespace": namespace, "name": key.name}), Arrays::Replaced);
    }
    Ok(make(gvr, &key, object, options.dry_run))
}

pub(crate) fn update(
    gvr: &str,
    key: &ObjectKey,
    object: &str,
    options: WriteOptions<'_>,
) -> Result<String, ApiError> {
    let object = parse(object)?;
    note("update", gvr, key, &object, options.dry_run);
    next_write_failure()?;
    let found = find(gvr, key)?;
    let (now, sent) = (meta(&found), meta(&object));
    let is_other = !sent.uid.is_empty() && !now.uid.is_empty() && sent.uid != now.uid;
    let is_stale = !sent.resource_version.is_empty() && sent.resource_version != now.resource_version;
    if is_other || is_stale {
        return Err(error(ApiCode::Conflict, 409, format!("{gvr} {key} has been modified")));
    }
    Ok(replace(gvr, key, &found, object, options.dry_run))
}

pub(crate) fn patch(
    gvr: &str,
    key: &ObjectKey,
    kind: PatchKind,
    body: &str,
    options: WriteOptions<'_>,
) -> Result<String, ApiError> {
    let body = parse(body)?;
    note("patch", gvr, key, &body, options.dry_run);
    next_write_failure()?;
    let mut object = match (find(gvr, key), kind) {
        (_, PatchKind::JsonPatch) => {
            let message = "the test host supports no JSON patches, and treats apply as a merge patch";
            return Err(error(ApiCode::Invalid, 415, message.to_owned()));
        }
        (Err(missing), PatchKind::Apply) if missing.code == ApiCode::NotFound => Value::Null,
        (found, _) => found?,
    };
    let (now, sent) = (meta(&object), meta(&body));
    let differs = |sent: &str, now: &str| !sent.is_empty() && !now.is_empty() && sent != now;
    if differs(&sent.resource_version, &now.resource_version) {
        return Err(error(ApiCode::Conflict, 409, format!("{gvr} {key} has been modified")));
    }
    if differs(&sent.uid, &now.uid) {
        // The API server compares the UID of a patch as it does for every field that cannot change.
        return Err(error(ApiCode::Invalid, 422, "metadata.uid: field is immutable".to_owned()));
    }
    let arrays = if kind == PatchKind::StrategicMerge { Arrays::Merged } else { Arrays::Replaced };
    let found = object.clone();
    merge(&mut object, &body, arrays);
    if found.is_null() {
        return Ok(make(gvr, key, object, options.dry_run));
    }
    Ok(replace(gvr, key, &found, object, options.dry_run))
}

pub(crate) fn delete_object(gvr: &str, key: &ObjectKey, options: DeleteOptions<'_>) -> Result<(), ApiError> {
    note("delete", gvr, key, &Value::Null, options.dry_run);
    next_write_failure()?;
    let object = find(gvr, key)?;
    let found = meta(&object);
    let differs = |wanted: Option<&str>, found: &str| wanted.is_some_and(|wanted| wanted != found);
    if differs(options.uid, &found.uid) || differs(options.resource_version, &found.resource_version) {
        return Err(error(ApiCode::Conflict, 409, format!("the precondition on {gvr} {key} does not hold")));
    }
    if options.dry_run {
        return Ok(());
    }
    if !has_finalizers(&object) {
        with_state(|state| state.resource(gvr).remove(key));
    } else if !found.deleting {
        let mut deleted = object;
        let deletion = serde_json::json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        merge(&mut deleted, &deletion, Arrays::Replaced);
        keep(gvr, key, deleted, false);
    }
    Ok(())
}

pub(crate) fn record_event(event: ObjectEvent<'_>) -> Result<(), ApiError> {
    note("event", event.gvr, event.regarding, &event.reason.into(), false);
    next_failure()
}

pub(super) fn error(code: ApiCode, status: u32, message: String) -> ApiError {
    ApiError { code, message, status, retry_after_ms: None }
}

/// What a patch does with arrays.
#[derive(Clone, Copy)]
enum Arrays {
    /// A JSON merge patch (RFC 7386) replaces them.
    Replaced,
    /// A strategic merge patch merges the items of some of them. The test host does not know the types, and merges all arrays
    /// whose items have a `name`, as those of containers, of their variables and of volumes have.
    Merged,
}

/// Applies a patch.
fn merge(target: &mut Value, patch: &Value, arrays: Arrays) {
    if let (Value::Array(items), Value::Array(patches), Arrays::Merged) = (&mut *target, patch, arrays)
        && patches.iter().all(|patch| name(patch).is_some())
    {
        for patch in patches {
            match items.iter_mut().find(|item| name(item) == name(patch)) {
                Some(item) => merge(item, patch, arrays),
                None => items.push(patch.clone()),
            }
        }
        return;
    }
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Default::default());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value, arrays);
        }
    }
}

fn name(item: &Value) -> Option<&str> {
    item.get("name")?.as_str()
}

fn parse(text: &str) -> Result<Value, ApiError> {
    serde_json::from_str(text).map_err(|problem| error(ApiCode::BadArgument, 0, problem.to_string()))
}

fn find(gvr: &str, key: &ObjectKey) -> Result<Value, ApiError> {
    let found = with_state(|state| state.resource(gvr).get(key).cloned());
    found.ok_or_else(|| error(ApiCode::NotFound, 404, format!("{gvr} {key} not found")))
}

/// The name of a new object. If the object has none, its name begins with `generateName`.
fn name_of_new(object: &Value) -> Result<String, ApiError> {
    let name = meta(object).name;
    let base = object.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default();
    match (name.is_empty(), base.is_empty()) {
        (false, _) => Ok(name),
        (true, false) => Ok(with_state(|state| format!("{base}{:05}", state.last_version + 1))),
        (true, true) => {
            let message = "metadata.name: Required value: name or generateName is required";
            Err(error(ApiCode::Invalid, 422, message.to_owned()))
        }
    }
}

/// Stores a new object as [`keep`] does, with a UID that no other object has.
fn make(gvr: &str, key: &ObjectKey, mut object: Value, dry_run: bool) -> String {
    let uid = with_state(|state| format!("uid-{}", state.last_version + 1));
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !OF_SERVER.contains(&field.as_str()));
        metadata.insert("uid".to_owned(), Value::String(uid));
    }
    keep(gvr, key, object, dry_run)
}

/// Stores the new state of an object as [`keep`] does. The fields of the server stay as they are. If the object is being deleted, the
/// removal of its last finalizer removes the object.
fn replace(gvr: &str, key: &ObjectKey, found: &Value, mut object: Value, dry_run: bool) -> String {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in OF_SERVER {
            match found.get("metadata").and_then(|metadata| metadata.get(field)) {
                Some(value) => metadata.insert(field.to_owned(), value.clone()),
                None => metadata.remove(field),
            };
        }
    }
    let is_gone = meta(found).deleting && has_finalizers(found) && !has_finalizers(&object);
    let text = keep(gvr, key, object, dry_run);
    if is_gone && !dry_run {
        with_state(|state| state.resource(gvr).remove(key));
    }
    text
}

fn has_finalizers(object: &Value) -> bool {
    object.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
}

/// Stores the object with a new version, unless this is a dry run. Returns the text of the object.
fn keep(gvr: &str, key: &ObjectKey, mut object: Value, dry_run: bool) -> String {
    with_state(|state| {
        state.last_version += u32::from(!dry_run);
        let version = serde_json::json!({"metadata": {"resourceVersion": state.last_version.to_string()}});
        merge(&mut object, &version, Arrays::Replaced);
        let text = object.to_string();
        if !dry_run {
            state.resource(gvr).insert(key, object);
        }
        text
    })
}

fn note(verb: &'static str, gvr: &str, key: &ObjectKey, body: &Value, dry_run: bool) {
    let request = Request { verb, gvr: gvr.to_owned(), key: key.clone(), body: body.clone(), dry_run };
    with_state(|state| state.requests.push(request));
}

fn next_failure() -> Result<(), ApiError> {
    with_state(|state| state.failures.pop_front()).map_or(Ok(()), Err)
}

fn next_write_failure() -> Result<(), ApiError> {
    next_failure()?;
    with_state(|state| state.write_failures.pop_front()).map_or(Ok(()), Err)
}
