//! What every stage decided about one object.

use informer_dispatch::workqueue::KeyStanding;
use informer_types::ObjectKey;
use serde::{Deserialize, Serialize};

use super::DeadLetter;

/// The query of `GET /explain`: the object that is meant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExplainRequest {
    /// The resource of the object: its full name, or another one that kubectl accepts.
    pub gvr: String,
    /// `namespace/name`, or `name`.
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
    pub plugins: Vec<PluginExplanation>,
    /// Why there are no steps.
    pub no_steps: Option<String>,
    /// The newest steps, the oldest first.
    pub steps: Vec<Step>,
}

/// The place of an object in one plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct PluginExplanation {
    /// Name of the plugin.
    pub plugin: String,
    /// True if the plugin subscribes to the resource.
    pub subscribed: bool,
    /// The condition of the subscription that excludes the object as it is in the cache.
    pub excluded_by: Option<String>,
    /// The place in the plugin's queue.
    #[serde(skip_deserializing)]
    pub queue: Option<informer_dispatch::Standing>,
    /// The dead letter about the object.
    pub dead_letter: Option<DeadLetter>,
    /// The quarantine of the plugin, in words.
    pub quarantine: Option<String>,
    /// The plugin's own key with the name of the object.
    pub own_key: OwnKey,
    /// True while no calls are made.
    pub paused: bool,
    /// The whole place in words.
    pub stands: String,
}

/// The plugin's own key with the name of the object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct OwnKey {
    /// The place in the workqueue.
    #[serde(skip_deserializing)]
    pub workqueue: Option<KeyStanding>,
    /// The dead letter of the key.
    pub dead_letter: Option<DeadLetter>,
    /// The quarantine of the reconciler, in words.
    pub quarantine: Option<String>,
}

/// A decision of one stage.
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
    /// The values of the decision, for programs. The commands do not read them.
    #[serde(flatten, skip_deserializing)]
    pub values: Option<informer_types::Step>,
}
