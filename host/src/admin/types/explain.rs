//! What every stage decided about one object.

use informer_types::{Gvr, ObjectKey};
use serde::{Deserialize, Serialize};

use super::DeadLetter;

/// The query of `GET /explain`: the object that is meant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExplainRequest {
    /// The resource of the object.
    pub gvr: Gvr,
    /// `namespace/name`, or `name`.
    #[serde(deserialize_with = "key")]
    pub key: ObjectKey,
    /// Name of the plugin that the answer is about; `None` means every plugin.
    pub plugin: Option<String>,
}

/// The answer to `GET /explain`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Explanation {
    /// The resource of the object.
    pub gvr: String,
    /// The key of the object.
    pub key: String,
    /// True if the host has anything about the object: in the cache, in a queue, as a dead letter or as steps.
    pub known: bool,
    /// The watch that serves the resource.
    pub watch: String,
    /// True if the watch has synced.
    pub synced: bool,
    /// The resource version in the cache; `None` if the object is not in the cache.
    pub version: Option<String>,
    /// The UID in the cache.
    pub uid: Option<String>,
    /// Why the last state of the object cannot be decoded.
    pub undecodable: Option<String>,
    /// The place in the cache, in words.
    pub cache: String,
    /// One for each plugin that the object concerns.
    pub plugins: Vec<Standing>,
    /// Why there are no steps.
    pub no_steps: Option<String>,
    /// The newest steps, the oldest first.
    pub steps: Vec<Step>,
}

/// The place of an object in one plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Standing {
    /// Name of the plugin.
    pub plugin: String,
    /// True if the plugin subscribes to the resource.
    pub subscribed: bool,
    /// The condition of the subscription that excludes the object as it is in the cache.
    pub excluded_by: Option<String>,
    /// The place in the plugin's queue.
    pub queue: Option<Place>,
    /// The dead letter about the object.
    pub dead_letter: Option<DeadLetter>,
    /// The quarantine of the plugin, in words.
    pub quarantine: Option<String>,
    /// The plugin's own key with the name of the object.
    pub own_key: OwnKey,
    /// True while no calls are made.
    pub paused: bool,
    /// All of it in words.
    pub stands: String,
}

/// The plugin's own key with the name of the object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct OwnKey {
    /// The place in the workqueue.
    pub workqueue: Option<Place>,
    /// The dead letter of the key.
    pub dead_letter: Option<DeadLetter>,
    /// The quarantine of the reconciler, in words.
    pub quarantine: Option<String>,
}

/// A place in the queue of notifications or in the workqueue. The fields of the other one are left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Place {
    /// `ready`, `waiting` or `in-hand`.
    pub place: String,
    /// Time until the retry, in milliseconds, if it is waiting.
    pub retry_in_ms: Option<u64>,
    /// Time that a worker has had it, in milliseconds, if it is in flight.
    pub in_hand_ms: Option<u64>,
    /// Verbs of the pending notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Vec<String>>,
    /// Attempts made for a notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Age of a notification, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// True if a key in flight waits again afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<bool>,
    /// Failed calls for a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
}

/// What one stage decided.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// When, as RFC 3339 writes it, with microseconds.
    pub at: Option<String>,
    /// The stage.
    pub stage: String,
    /// Name of the plugin; `None` if the step is about every plugin.
    pub plugin: Option<String>,
    /// The decision in a word.
    pub verdict: String,
    /// The decision in a sentence.
    pub detail: String,
    /// The same for a program.
    #[serde(flatten)]
    pub fields: StepFields,
}

/// The values of a step for a program. Values that the step does not have are left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct StepFields {
    /// The resource version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The resource version before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_version: Option<String>,
    /// The resource version that the plugin has already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_version: Option<String>,
    /// The verb of the notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The verb before the filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<String>,
    /// The cause of the notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Number of listeners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listeners: Option<usize>,
    /// The condition that suppressed the notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The verb of the pending notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Why the condition could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Number of the call, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Time in the queue, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
    /// Time of the call, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// The failure of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Time until the retry, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    /// Delay of the key, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Capacity of the workqueue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<usize>,
}

fn key<'de, D: serde::Deserializer<'de>>(text: D) -> Result<ObjectKey, D::Error> {
    String::deserialize(text)?.parse().map_err(serde::de::Error::custom)
}
