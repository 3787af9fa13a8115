//! The state of the test host of a thread, and what a test reads back from it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use informer_types::{IndexPaths, Part};
use serde_json::Value;

use super::pages::OpenLists;
use crate::ObjectKey;
use crate::bindings::informer::plugin::client::ApiError;
use crate::bindings::informer::plugin::types::{Error, ErrorCode, ObjectId, ObjectMeta, Owner};
use crate::log::Level;

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State::default());
}

/// The objects that a test stored, and what the plugin sent.
#[derive(Debug, Default)]
pub(super) struct State {
    resources: BTreeMap<String, Resource>,
    objects: BTreeMap<ObjectId, Value>,
    last_id: ObjectId,
    /// The lists of the cache. They end with the call.
    pub(super) lists: OpenLists,
    /// The lists of the API server.
    pub(super) live_lists: OpenLists,
    pub(super) log: Vec<Line>,
    pub(super) requests: Vec<Request>,
    pub(super) failures: VecDeque<ApiError>,
    pub(super) write_failures: VecDeque<ApiError>,
    pub(super) last_version: u32,
    /// The keys of the workqueue that were added and not taken yet.
    pub(super) ready: VecDeque<String>,
    /// The delay of each delayed key in milliseconds.
    pub(super) delayed: BTreeMap<String, u32>,
    pub(super) requeues: BTreeMap<String, u32>,
    /// The key-values by bucket and key.
    pub(super) values: BTreeMap<(String, String), Vec<u8>>,
    /// The delay of each timer in milliseconds.
    pub(super) timers: BTreeMap<String, u32>,
    /// The delay of each `call_again` in milliseconds.
    pub(super) again: Vec<u32>,
}

/// The cache of one resource, sorted by namespace and name.
#[derive(Debug, Default)]
pub(super) struct Resource {
    pub(super) synced: bool,
    /// The declared indexes by name.
    pub(super) indexes: BTreeMap<String, IndexPaths>,
    objects: BTreeMap<(String, String), Value>,
}

/// One line that the plugin logged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// How important the line is.
    pub level: Level,
    /// The message.
    pub message: String,
    /// Keys and values.
    pub fields: Vec<(String, String)>,
}

/// A write or an Event that the plugin requested.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// `create`, `update`, `patch`, `delete` or `event`.
    pub verb: &'static str,
    /// The resource: `apps/v1/deployments`.
    pub gvr: String,
    /// The object. Its name is empty if the server chooses the name.
    pub key: ObjectKey,
    /// The body of the request: the reason for an Event, `null` for a deletion.
    pub body: Value,
    /// True for a dry run.
    pub dry_run: bool,
}

pub(super) fn with_state<T>(use_it: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(use_it)
}

// === impl State ===

impl State {
    /// The cache of a resource. From now on the resource counts as watched.
    pub(super) fn resource(&mut self, gvr: &str) -> &mut Resource {
        self.resources.entry(gvr.to_owned()).or_default()
    }

    pub(super) fn watched(&self, gvr: &str) -> Result<&Resource, Error> {
        let unknown = || error(ErrorCode::UnknownResource, format!("the test host does not watch {gvr}"));
        self.resources.get(gvr).ok_or_else(unknown)
    }

    /// Never returns the same token twice, so a stale token never names another object.
    pub(super) fn hand_out(&mut self, object: Value) -> ObjectId {
        self.last_id += 1;
        self.objects.insert(self.last_id, object);
        self.last_id
    }

    pub(super) fn object(&self, id: ObjectId) -> Result<&Value, Error> {
        let stale = || error(ErrorCode::StaleToken, format!("no object {id} belongs to the current call"));
        self.objects.get(&id).ok_or_else(stale)
    }

    pub(super) fn end_call(&mut self) {
        self.objects.clear();
        self.lists.clear();
    }
}

// === impl Line ===

/// Writes `info message key=value`.
impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.level, self.message)?;
        self.fields.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

// === impl Resource ===

impl Resource {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(&pair(key))
    }

    pub(super) fn insert(&mut self, key: &ObjectKey, object: Value) {
        self.objects.insert(pair(key), object);
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.objects.remove(&pair(key));
    }

    /// The objects of one namespace, or all objects.
    pub(super) fn in_namespace(&self, namespace: Option<&str>) -> impl Iterator<Item = &Value> {
        let wanted = move |of: &str| namespace.is_none_or(|only| only == of);
        self.objects.iter().filter(move |((of, _), _)| wanted(of)).map(|(_, object)| object)
    }
}

fn pair(key: &ObjectKey) -> (String, String) {
    (key.namespace.clone(), key.name.clone())
}

pub(super) fn error(code: ErrorCode, message: String) -> Error {
    Error { code, message }
}

/// The JSON texts at several pointers, or their digests.
pub(super) fn texts(object: &Value, pointers: &[&str]) -> Result<Vec<Option<String>>, Error> {
    let json = object.to_string();
    let texts = Part::texts(&parts(pointers)?, &json).map_err(|refused| invalid(&refused))?;
    Ok(texts.into_iter().map(|text| text.map(Cow::into_owned)).collect())
}

/// Returns true if one of the values or digests differs between two objects.
pub(super) fn differ(old: &Value, new: &Value, pointers: &[&str]) -> Result<bool, Error> {
    Part::differ(&parts(pointers)?, &old.to_string(), &new.to_string()).map_err(|refused| invalid(&refused))
}

fn parts(pointers: &[&str]) -> Result<Vec<Part>, Error> {
    pointers.iter().map(|pointer| pointer.parse().map_err(|refused| invalid(&refused))).collect()
}

fn invalid(refused: &dyn std::fmt::Display) -> Error {
    error(ErrorCode::Invalid, refused.to_string())
}

/// The metadata of an object. Missing fields are empty.
pub(super) fn meta(object: &Value) -> ObjectMeta {
    let meta = object.get("metadata").unwrap_or(&Value::Null);
    let text = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let labels = meta.get("labels").and_then(Value::as_object).into_iter().flatten();
    let owners = meta.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let mut controllers =
        owners.filter(|owner| owner.get("controller").and_then(Value::as_bool).unwrap_or(false));
    ObjectMeta {
        namespace: text(meta, "namespace"),
        name: text(meta, "name"),
        uid: text(meta, "uid"),
        resource_version: text(meta, "resourceVersion"),
        creation_timestamp: text(meta, "creationTimestamp"),
        deleting: meta.get("deletionTimestamp").is_some_and(|at| !at.is_null()),
        labels: labels
            .map(|(key, _)| (key.clone(), text(meta.get("labels").unwrap_or(&Value::Null), key)))
            .collect(),
        controller: controllers.next().map(|owner| Owner {
            api_version: text(owner, "apiVersion"),
            kind: text(owner, "kind"),
            name: text(owner, "name"),
            uid: text(owner, "uid"),
        }),
    }
}
