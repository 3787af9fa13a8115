//! The `status` of a Plugin object, which the host writes.

use informer_types::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::{
    objects::{Judged, Verdict},
    running_plugin::RunningPlugin,
};

/// The longest message of a condition, in characters. It may quote a registry or a guest.
const MESSAGE: usize = 1000;

/// The `status` of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    state: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    calls: u64,
    failures: u64,
    observed_generation: i64,
    pub(super) conditions: Vec<Condition>,
}

/// `metav1.Condition`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
    last_transition_time: String,
    observed_generation: i64,
}

/// The state of a running plugin, for its status.
#[derive(Clone, Debug, Default)]
pub(super) struct PluginState {
    /// Name, version and digest.
    pub(super) version: Option<(String, String, String)>,
    pub(super) refused: Option<String>,
    /// The component of a changed source is being loaded.
    pub(super) is_changing: bool,
    pub(super) synced: bool,
    pub(super) quarantined: bool,
    pub(super) last_failure: Option<String>,
    pub(super) calls: u64,
    pub(super) failures: u64,
    /// Notifications and keys that were given up.
    pub(super) given_up: u64,
}

/// How two states of an object differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Difference {
    None,
    /// Only counters or messages differ.
    Minor,
    /// Something differs that an operator acts on.
    Major,
}

// === impl PluginState ===

impl PluginState {
    pub(super) fn of(plugin: &RunningPlugin) -> Self {
        let stats = plugin.plugin().stats();
        let version = plugin.plugin().version();
        let (queue, workqueue) = (plugin.queue().stats(), plugin.workqueue().stats());
        let signals = plugin.signals().queue().stats();
        Self {
            version: version.map(|version| (version.name, version.version, (*version.digest).to_owned())),
            refused: plugin.versions().refused(),
            is_changing: plugin.versions().is_changing(),
            synced: plugin.subscriptions().are_synced(),
            quarantined: queue.quarantine.is_some()
                || (plugin.plugin().reconciles() && workqueue.quarantine.is_some())
                || signals.quarantine.is_some(),
            last_failure: stats.last_failure,
            calls: stats.calls,
            failures: stats.failures.values().sum(),
            given_up: queue.dead
                + workqueue.dropped_keys as u64
                + workqueue.dropped_keys_evicted
                + signals.dropped_keys as u64,
        }
    }
}

// === impl Status ===

impl Status {
    /// The status that an object has on the server. An object without one has the default.
    pub(super) fn written(object: &Object) -> Self {
        let json = object.json().ok();
        let object: Option<Value> = json.and_then(|json| serde_json::from_str(&json).ok());
        Self::of(object.unwrap_or_default())
    }

    /// The status in the JSON of an object.
    pub(super) fn of(mut object: Value) -> Self {
        let status = object.get_mut("status").map(Value::take);
        status.and_then(|status| serde_json::from_value(status).ok()).unwrap_or_default()
    }

    /// The status that an object should have. `before` has the times of conditions that stay as they are.
    pub(super) fn wanted(judged: &Judged, plugin: Option<&PluginState>, before: &Self, now: &str) -> Self {
        let running = plugin.filter(|_| !matches!(judged.verdict, Verdict::Refused(_)));
        let (loaded, reason, message) = loaded(&judged.verdict, running);
        let generation = judged.object.generation().unwrap_or_default();
        let condition = |kind: &str, status: &str, reason: &str, message: String| {
            let same = before.conditions.iter().find(|one| one.kind == kind && one.status == status);
            Condition {
                kind: kind.to_owned(),
                status: status.to_owned(),
                reason: reason.to_owned(),
                message,
                last_transition_time: same
                    .map_or_else(|| now.to_owned(), |same| same.last_transition_time.clone()),
                observed_generation: generation,
            }
        };
        let (synced, synced_reason, synced_message) = synced(running);
        let (quarantined, quarantined_reason, quarantined_message) = quarantined(running);
        let version = running.and_then(|plugin| plugin.version.as_ref());
        Self {
            state: state(&judged.verdict, running).to_owned(),
            name: judged.name.clone(),
            version: version.map(|(_, version, _)| cut(version)),
            digest: version.map(|(.., digest)| digest.clone()),
            calls: running.map_or(0, |plugin| plugin.calls),
            failures: running.map_or(0, |plugin| plugin.failures),
            observed_generation: generation,
            conditions: vec![
                condition("Loaded", if loaded { "True" } else { "False" }, reason, cut(&message)),
                condition("Synced", synced, synced_reason, synced_message.to_owned()),
                condition("Quarantined", quarantined, quarantined_reason, cut(&quarantined_message)),
            ],
        }
    }

    /// Returns true if the object is about to reach another state.
    pub(super) fn is_on_its_way(&self) -> bool {
        matches!(self.state.as_str(), "Loading" | "Syncing")
            && self.condition("Loaded").is_none_or(|one| one.reason != "LoadFailed")
    }

    pub(super) fn difference(&self, other: &Self) -> Difference {
        if self == other {
            Difference::None
        } else if self.without_words() == other.without_words() {
            Difference::Minor
        } else {
            Difference::Major
        }
    }

    pub(super) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|one| one.kind == kind)
    }

    fn without_words(&self) -> Self {
        let mut plain = Self { calls: 0, failures: 0, ..self.clone() };
        for condition in &mut plain.conditions {
            condition.message.clear();
        }
        plain
    }
}

/// Returns true if the present spec is in service, with the reason and the message of the condition.
fn loaded(verdict: &Verdict, running: Option<&PluginState>) -> (bool, &'static str, String) {
    let refused = match verdict {
        Verdict::Refused(refused) => return (false, refused.reason, refused.message.clone()),
        Verdict::Outdated(refused, generation) => {
            let message = format!("{}. The spec of generation {generation} stays in force", refused.message);
            return (false, refused.reason, message);
        }
        Verdict::Accepted => running.and_then(|plugin| plugin.refused.as_ref()),
    };
    match (running.and_then(|plugin| plugin.version.as_ref()), refused) {
        (Some(_), Some(why)) => (false, "NewVersionRefused", format!("the version in service stays: {why}")),
        (None, Some(why)) => (false, "LoadFailed", why.clone()),
        (Some(_), None) if running.is_some_and(|plugin| plugin.is_changing) => {
            let message = "the component of the changed source is fetched and compiled; the version in service stays until then";
            (false, "Loading", message.to_owned())
        }
        (Some((name, version, digest)), None) => {
            (true, "Loaded", format!("{name} {version}, digest sha256:{digest}"))
        }
        (None, None) => (false, "Loading", "the component is fetched and compiled".to_owned()),
    }
}

fn synced(running: Option<&PluginState>) -> (&'static str, &'static str, &'static str) {
    match running {
        None => ("Unknown", "NotRunning", "the plugin does not run"),
        Some(plugin) if plugin.synced => ("True", "Synced", "the caches that it reads are complete"),
        Some(_) => ("False", "Listing", "the caches that it reads are not complete yet, so it is not called"),
    }
}

fn quarantined(running: Option<&PluginState>) -> (&'static str, &'static str, String) {
    match running {
        None => ("Unknown", "NotRunning", "the plugin does not run".to_owned()),
        Some(plugin) if plugin.quarantined => {
            let why = plugin.last_failure.as_deref().unwrap_or("its calls fail");
            let message =
                format!("it is called again after a wait, because it failed again and again, at last: {why}");
            ("True", "Failing", message)
        }
        Some(_) => ("False", "Working", "it is called".to_owned()),
    }
}

fn state(verdict: &Verdict, running: Option<&PluginState>) -> &'static str {
    match (verdict, running) {
        (Verdict::Refused(_), _) => "Refused",
        (Verdict::Outdated(..), _) => "Outdated",
        (_, None) => "Loading",
        (_, Some(plugin)) if plugin.version.is_none() => "Loading",
        (_, Some(plugin)) if plugin.quarantined => "Quarantined",
        (_, Some(plugin)) if !plugin.synced => "Syncing",
        (_, Some(plugin)) if plugin.refused.is_some() => "Outdated",
        (_, Some(plugin)) if plugin.is_changing => "Loading",
        (_, Some(_)) => "Serving",
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MESSAGE) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use informer_types::{Body, Header};

    use super::*;
    use crate::config::Refused;

    fn judged(verdict: Verdict) -> Judged {
        let header = Header { namespace: "shop".into(), name: "echo".into(), ..Header::default() };
        let object = Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap());
        Judged { object, name: "shop/echo".to_owned(), verdict }
    }

    fn serving() -> PluginState {
        let version = Some(("echo".to_owned(), "1.2.0".to_owned(), "ab".to_owned()));
        PluginState { version, synced: true, calls: 3, ..PluginState::default() }
    }

    fn wanted(verdict: Verdict, plugin: Option<&PluginState>) -> Status {
        Status::wanted(&judged(verdict), plugin, &Status::default(), "2026-11-23T10:00:00Z")
    }

    fn loaded_of(status: &Status) -> (&str, &str, &str) {
        let condition = status.condition("Loaded").unwrap();
        (&condition.status, &condition.reason, &condition.message)
    }

    #[test]
    fn each_state_has_its_word_and_its_condition() {
        let refusal = Refused { reason: "NotAllowed", message: "no".to_owned() };
        let broken = PluginState { version: None, refused: Some("trap".to_owned()), ..serving() };
        let stays = PluginState { refused: Some("trap".to_owned()), ..serving() };
        let quarantined = PluginState { quarantined: true, last_failure: Some("oh".to_owned()), ..serving() };
        for (verdict, plugin, state, loaded) in [
            (
                Verdict::Accepted,
                Some(serving()),
                "Serving",
                ("True", "Loaded", "echo 1.2.0, digest sha256:ab"),
            ),
            (
                Verdict::Accepted,
                None,
                "Loading",
                ("False", "Loading", "the component is fetched and compiled"),
            ),
            (Verdict::Accepted, Some(broken), "Loading", ("False", "LoadFailed", "trap")),
            (
                Verdict::Accepted,
                Some(stays),
                "Outdated",
                ("False", "NewVersionRefused", "the version in service stays: trap"),
            ),
            (
                Verdict::Accepted,
                Some(PluginState { is_changing: true, ..serving() }),
                "Loading",
                (
                    "False",
                    "Loading",
                    "the component of the changed source is fetched and compiled; the version in service stays until then",
                ),
            ),
            (
                Verdict::Accepted,
                Some(quarantined),
                "Quarantined",
                ("True", "Loaded", "echo 1.2.0, digest sha256:ab"),
            ),
            (
                Verdict::Accepted,
                Some(PluginState { synced: false, ..serving() }),
                "Syncing",
                ("True", "Loaded", "echo 1.2.0, digest sha256:ab"),
            ),
            (Verdict::Refused(refusal.clone()), Some(serving()), "Refused", ("False", "NotAllowed", "no")),
            (
                Verdict::Outdated(refusal, 3),
                Some(serving()),
                "Outdated",
                ("False", "NotAllowed", "no. The spec of generation 3 stays in force"),
            ),
        ] {
            let status = wanted(verdict.clone(), plugin.as_ref());
            assert_eq!((status.state.as_str(), loaded_of(&status)), (state, loaded), "{verdict:?}");
        }
    }

    #[test]
    fn counters_and_words_are_minor_and_the_time_of_a_condition_stays() {
        let before = wanted(Verdict::Accepted, Some(&serving()));
        let later = |plugin: &PluginState| {
            Status::wanted(&judged(Verdict::Accepted), Some(plugin), &before, "2026-11-23T11:00:00Z")
        };

        assert_eq!(before.difference(&later(&serving())), Difference::None);
        assert_eq!(before.difference(&later(&PluginState { calls: 4, ..serving() })), Difference::Minor);
        let quarantined = later(&PluginState { quarantined: true, ..serving() });
        assert_eq!(before.difference(&quarantined), Difference::Major);
        let time = |kind: &str| &quarantined.condition(kind).unwrap().last_transition_time;
        assert_eq!(
            (time("Loaded").as_str(), time("Quarantined").as_str()),
            ("2026-11-23T10:00:00Z", "2026-11-23T11:00:00Z")
        );
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let plugin = PluginState { refused: Some("\u{e9}".repeat(2000)), ..PluginState::default() };

        let status = wanted(Verdict::Accepted, Some(&plugin));

        assert_eq!(loaded_of(&status).2.chars().count(), MESSAGE + 3);
    }

    #[test]
    fn written_values_read_back() {
        let status = wanted(Verdict::Accepted, Some(&serving()));
        let json = serde_json::json!({"status": status}).to_string();
        let header = Header { name: "echo".into(), ..Header::default() };

        let object = Object::new(&header, Body::Raw(json.into())).unwrap();

        assert_eq!(Status::written(&object), status);
        let odd = Object::new(&header, Body::Raw(r#"{"status": {"conditions": 3}}"#.into())).unwrap();
        assert_eq!(Status::written(&odd), Status::default());
    }
}
