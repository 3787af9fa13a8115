//! Events about Plugin objects, which `kubectl describe` shows besides the conditions.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use informer_types::{Object, TokenBucket};
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, PostParams};
use serde_json::json;

use super::status::{PluginState, Status};
use crate::app::objects::Judged;

/// The most Events in a second, of all objects together. The conditions have everything, so no Event is indispensable.
const PER_SECOND: f64 = 1.0;
const BURST: f64 = 25.0;

/// Time between two Events of one object for one reason.
const BETWEEN: Duration = Duration::from_secs(60);

/// The longest note that the API server accepts.
const NOTE_BYTES: usize = 1024;

/// The most reasons that are remembered; then they are forgotten, and may be repeated early.
const REMEMBERED: usize = 10_000;

/// Records Events.
pub(super) struct Recorder {
    client: kube::Client,
    instance: String,
    bucket: TokenBucket,
    last: HashMap<(String, &'static str), Instant>,
}

/// One Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    warning: bool,
    reason: &'static str,
    text: String,
}

// === impl Recorder ===

impl Recorder {
    pub(super) fn new(client: kube::Client, instance: String) -> Self {
        Self { client, instance, bucket: TokenBucket::new(PER_SECOND, BURST), last: HashMap::new() }
    }

    /// Records an Event, unless there were too many.
    ///
    /// # Errors
    /// Those of the request.
    pub(super) async fn record(&mut self, judged: &Judged, note: &Note) -> Result<(), kube::Error> {
        let now = Instant::now();
        if !self.admits(judged.object.uid().to_string(), note.reason, now) {
            return Ok(());
        }
        let event = event(&judged.object, note, &self.instance, Timestamp::now());
        // The value has the fields of an Event.
        let Ok(event) = serde_json::from_value::<Event>(event) else { return Ok(()) };
        let namespace = namespace(&judged.object);
        let events = Api::<Event>::namespaced(self.client.clone(), namespace);
        let parameters = PostParams { field_manager: Some("informer".to_owned()), ..PostParams::default() };
        events.create(&parameters, &event).await.map(drop)
    }

    fn admits(&mut self, uid: String, reason: &'static str, now: Instant) -> bool {
        let key = (uid, reason);
        if self.last.get(&key).is_some_and(|last| now.saturating_duration_since(*last) < BETWEEN) {
            return false;
        }
        if !self.bucket.take(now) {
            return false;
        }
        if self.last.len() >= REMEMBERED {
            self.last.clear();
        }
        self.last.insert(key, now);
        true
    }
}

/// Returns what happened between two states of an object. `given_up` is the count before, or `None` at the start of the host.
pub(super) fn notes(
    before: &Status,
    after: &Status,
    given_up: Option<u64>,
    plugin: Option<&PluginState>,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let pair = |kind: &str| Some((before.condition(kind), after.condition(kind)?));
    if let Some((earlier, now)) = pair("Loaded") {
        let changed =
            earlier.is_none_or(|earlier| (&earlier.status, &earlier.reason) != (&now.status, &now.reason));
        if now.status == "True" && before.digest != after.digest {
            notes.push(Note { warning: false, reason: "Loaded", text: now.message.clone() });
        } else if now.status == "False" && changed && now.reason != "Loading" {
            let reason = if after.version.is_some() { "ChangeRefused" } else { "Refused" };
            notes.push(Note { warning: true, reason, text: format!("{}: {}", now.reason, now.message) });
        }
    }
    if let Some((earlier, now)) = pair("Quarantined") {
        let was = earlier.is_some_and(|earlier| earlier.status == "True");
        match (was, now.status.as_str()) {
            (false, "True") => {
                notes.push(Note { warning: true, reason: "Quarantined", text: now.message.clone() });
            }
            (true, "False") => {
                let text = "it works again".to_owned();
                notes.push(Note { warning: false, reason: "QuarantineEnded", text });
            }
            _ => {}
        }
    }
    if let Some((earlier, plugin)) = given_up.zip(plugin)
        && plugin.given_up > earlier
    {
        let (what, them) = match plugin.given_up - earlier {
            1 => ("1 notification or key was".to_owned(), "it"),
            count => (format!("{count} notifications or keys were"), "them"),
        };
        let text = format!("{what} given up; the operator of the host can replay {them}");
        notes.push(Note { warning: true, reason: "DeadLetters", text });
    }
    notes
}

/// The API server keeps Events about cluster-scoped objects in `default`.
fn namespace(object: &Object) -> &str {
    if object.namespace().is_empty() { "default" } else { object.namespace() }
}

fn event(object: &Object, note: &Note, instance: &str, now: Timestamp) -> serde_json::Value {
    let mut end = note.text.len().min(NOTE_BYTES);
    while !note.text.is_char_boundary(end) {
        end -= 1;
    }
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": format!("{}.{:x}", object.name(), now.as_nanosecond()),
            "namespace": namespace(object),
        },
        "eventTime": format!("{now:.6}"),
        "reportingController": "informer",
        "reportingInstance": instance,
        "type": if note.warning { "Warning" } else { "Normal" },
        "reason": note.reason,
        "action": "Run",
        "note": note.text.get(..end),
        "regarding": {
            "apiVersion": "informer.dev/v1alpha1",
            "kind": if object.namespace().is_empty() { "ClusterPlugin" } else { "Plugin" },
            "namespace": object.namespace(),
            "name": object.name(),
            "uid": object.uid(),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use informer_types::{Body, Header};

    use super::*;
    use crate::{app::objects::Verdict, config::Refused};

    fn status(verdict: Verdict, plugin: Option<&PluginState>) -> Status {
        let header = Header { namespace: "shop".into(), name: "echo".into(), ..Header::default() };
        let object = Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap());
        let judged = Judged { object, name: "shop/echo".to_owned(), verdict };
        Status::wanted(&judged, plugin, &Status::default(), "2026-11-23T10:00:00Z")
    }

    fn serving() -> PluginState {
        let version = Some(("echo".to_owned(), "1.2.0".to_owned(), "ab".to_owned()));
        PluginState { version, synced: true, ..PluginState::default() }
    }

    #[test]
    fn an_event_is_recorded_for_each_change_that_matters_and_for_no_other() {
        let refusal = || Verdict::Refused(Refused { reason: "NotAllowed", message: "no".to_owned() });
        let reasons =
            |before: &Status, after: &Status, given_up, plugin: Option<&PluginState>| -> Vec<&'static str> {
                notes(before, after, given_up, plugin).iter().map(|note| note.reason).collect()
            };
        let (new, loading) = (Status::default(), status(Verdict::Accepted, None));
        let (good, bad) = (status(Verdict::Accepted, Some(&serving())), status(refusal(), None));
        let quarantined = PluginState { quarantined: true, ..serving() };
        let failing = status(Verdict::Accepted, Some(&quarantined));

        assert!(reasons(&new, &loading, None, None).is_empty());
        assert_eq!(reasons(&loading, &good, None, None), ["Loaded"]);
        assert!(reasons(&good, &good, None, None).is_empty());
        assert_eq!(reasons(&new, &bad, None, None), ["Refused"]);
        assert!(reasons(&bad, &bad, None, None).is_empty());
        assert_eq!(reasons(&good, &failing, None, None), ["Quarantined"]);
        assert_eq!(reasons(&failing, &good, None, None), ["QuarantineEnded"]);
        let letters = PluginState { given_up: 3, ..serving() };
        assert_eq!(reasons(&good, &good, Some(1), Some(&letters)), ["DeadLetters"]);
        assert!(reasons(&good, &good, None, Some(&letters)).is_empty(), "they are of before the start");
    }

    #[test]
    fn one_notification_that_was_given_up_is_singular() {
        let good = status(Verdict::Accepted, Some(&serving()));
        let letters = PluginState { given_up: 3, ..serving() };
        let text = |earlier| notes(&good, &good, Some(earlier), Some(&letters)).remove(0).text;

        assert_eq!(text(2), "1 notification or key was given up; the operator of the host can replay it");
        assert_eq!(
            text(1),
            "2 notifications or keys were given up; the operator of the host can replay them"
        );
    }

    #[tokio::test]
    async fn events_are_limited_by_object_and_in_all() {
        let client =
            kube::Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let (mut recorder, now) = (Recorder::new(client, "host".to_owned()), Instant::now());

        assert!(recorder.admits("one".to_owned(), "Refused", now));
        assert!(!recorder.admits("one".to_owned(), "Refused", now + BETWEEN / 2));
        assert!(recorder.admits("one".to_owned(), "Loaded", now));
        let others = (0..100).filter(|other| recorder.admits(other.to_string(), "Refused", now)).count();
        assert!(others < 30, "{others}");
        assert!(recorder.admits("one".to_owned(), "Refused", now + BETWEEN));
    }

    #[test]
    fn an_event_is_one_that_the_api_server_accepts() {
        let header = Header { name: "janitor".into(), uid: "u".into(), ..Header::default() };
        let object = Object::new(&header, Body::Raw("{}".into())).unwrap();
        let note = Note { warning: true, reason: "Refused", text: "\u{e9}".repeat(2000) };

        let event = event(&object, &note, "host", Timestamp::UNIX_EPOCH);

        assert_eq!(event["note"].as_str().unwrap().len(), NOTE_BYTES);
        assert_eq!(event["metadata"]["namespace"], "default");
        assert_eq!(event["regarding"]["kind"], "ClusterPlugin");
        serde_json::from_value::<Event>(event).unwrap();
    }
}
