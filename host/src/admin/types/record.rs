//! A recording of the calls of one plugin, for `informer test --record`.

use serde::{Deserialize, Serialize};

/// The body of `POST /record`: a plugin, and the bounds of the recording. It ends at the first one that is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecordRequest {
    /// Name of the plugin.
    pub plugin: String,
    /// The most calls.
    pub calls: u32,
    /// The longest time in seconds.
    pub seconds: u32,
    /// The most bytes of all objects together.
    pub bytes: u64,
}

/// The answer to `POST /record`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Recording {
    /// The calls in the order in which they ended. Repeated attempts are left out.
    pub calls: Vec<RecordedCall>,
    /// Why the recording ended.
    pub ended: String,
}

/// One call of a handler or of a reconciler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RecordedCall {
    /// `on-add`, `on-update`, `on-delete` or `reconcile`.
    pub call: String,
    /// `namespace/name`, or the key of a reconciler.
    pub key: String,
    /// The states of objects that led to the call: one for a handler. For a reconciler, the objects with this key in the caches of
    /// its subscriptions.
    pub objects: Vec<RecordedObject>,
    /// The next call that the plugin requested: `again after 60s`, for example. `None` if it requested none.
    pub next: Option<String>,
    /// How the call failed: `retry: MESSAGE`, for example. `None` if it succeeded.
    pub failure: Option<String>,
}

/// The state of an object, as the plugin may see it: values of Secrets are masked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RecordedObject {
    /// The resource, like `apps/v1/deployments`.
    pub resource: String,
    /// `namespace/name`, or `name`.
    pub key: String,
    /// The state before an update, as JSON text.
    pub old: Option<String>,
    /// The state; `None` if the object does not exist. For `on-delete` it is the last state.
    pub new: Option<String>,
    /// True if the plugin wrote this state itself.
    pub own: bool,
}
