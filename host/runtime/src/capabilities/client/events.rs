//! Events of `events.k8s.io/v1`: one that comes again is counted, not made anew.
//!
//! As client-go's events recorder: same regarding object, type, reason and action make a series. A series ends ten
//! minutes after its last event, or where the server has forgotten it (an hour by default). How many are written about
//! one object is limited, too: see `spam_filter`.

mod spam_filter;

use std::{
    collections::VecDeque,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use http::Method;
use informer_types::{Gvr, ObjectKey, WriteVerb};
use parking_lot::Mutex;
use serde_json::json;

use super::{JSON, body::text, error::shown, gate::Write, target::Target};
use crate::{
    bindings::informer::plugin::{
        client::{ApiCode, ApiError, ObjectEvent},
        types,
    },
    guest::Guest,
};

pub(super) use spam_filter::SpamFilter;

/// How long a series lasts without an event.
const SERIES: Duration = Duration::from_secs(10 * 60);

/// Series remembered for a plugin; the one that is quiet for longest is forgotten first, and begins anew.
const REMEMBERED: usize = 1024;

/// What the API server takes (`k8s.io/kubernetes/pkg/apis/core/validation/events.go`).
const WORD_BYTES: usize = 128;
const NOTE_BYTES: usize = 1024;

/// Of the object's name, so much stands in the Event's, which has 253 bytes and a number at its end.
const NAME_BYTES: usize = 200;

/// What makes two events the same.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    gvr: Gvr,
    object: ObjectKey,
    uid: String,
    warning: bool,
    reason: String,
    action: String,
}

#[derive(Clone, Debug)]
struct Series {
    key: Key,
    /// Of the Event object.
    name: String,
    count: u32,
    last: Instant,
}

/// The series of one plugin, the most recent at the end.
#[derive(Debug, Default)]
pub(super) struct EventSeries(Mutex<VecDeque<Series>>);

// === impl EventSeries ===

impl EventSeries {
    /// One more of a series: the name of its Event, and how many that makes.
    fn again(&self, key: &Key, now: Instant) -> Option<(String, u32)> {
        let mut all = self.0.lock();
        all.retain(|series| now.saturating_duration_since(series.last) < SERIES);
        let at = all.iter().position(|series| series.key == *key)?;
        let mut series = all.remove(at)?;
        series.count = series.count.saturating_add(1);
        series.last = now;
        let again = (series.name.clone(), series.count);
        all.push_back(series);
        Some(again)
    }

    fn begin(&self, key: Key, name: String, now: Instant) {
        let mut all = self.0.lock();
        all.retain(|series| series.key != key);
        if all.len() >= REMEMBERED {
            all.pop_front();
        }
        all.push_back(Series { key, name, count: 1, last: now });
    }
}

impl Guest {
    pub(super) async fn record(&mut self, event: ObjectEvent) -> Result<(), ApiError> {
        check(&event)?;
        let regarding = Target::object(&event.gvr, event.regarding.clone(), String::new())?;
        let events = Gvr::new("events.k8s.io", "v1", "events");
        // Of what has no namespace, the Events are in `default`.
        let namespace = match regarding.namespace.as_str() {
            "" => "default",
            namespace => namespace,
        };
        let grants = self.config.grants.write.as_ref();
        if !grants.is_some_and(|grants| grants.allow(WriteVerb::Create, &events, None, namespace)) {
            let what = format!("an Event in namespace {namespace}, which is create of {events},");
            return Err(self.refuse(&what, "write"));
        }
        self.may_regard(&regarding)?;
        let (kind, uid) = self.kind_and_uid(&regarding)?;
        let key = Key {
            gvr: regarding.gvr.clone(),
            object: ObjectKey::new(regarding.namespace.as_str(), regarding.name()),
            uid,
            warning: event.warning,
            reason: event.reason.clone(),
            action: event.action.clone(),
        };
        if !self.sources.client.0.spam.admits(&key.gvr, &key.object, &key.uid, Instant::now()) {
            self.counters.client.events_suppressed.fetch_add(1, Relaxed);
            return Ok(());
        }
        let written = self.again_or_new(namespace, key.clone(), &kind, event.note).await;
        if written.is_err() {
            self.sources.client.0.spam.give_back(&key.gvr, &key.object, &key.uid);
        }
        written
    }

    async fn again_or_new(
        &mut self,
        namespace: &str,
        key: Key,
        kind: &str,
        note: String,
    ) -> Result<(), ApiError> {
        let again = self.sources.client.0.series.again(&key, Instant::now());
        if let Some((name, count)) = again {
            match self.count(namespace, name, count).await {
                // The server forgets Events.
                Err(error) if error.code == ApiCode::NotFound => {}
                counted => return counted,
            }
        }
        self.make(namespace, key, kind, note).await
    }

    /// A first event.
    async fn make(&mut self, namespace: &str, key: Key, kind: &str, note: String) -> Result<(), ApiError> {
        let now = jiff::Timestamp::now();
        let name = format!("{}.{:x}", event_name(&key.object.name), now.as_nanosecond());
        let object = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": micro_time(now),
            "reportingController": self.reporter(),
            "reportingInstance": self.sources.client.0.instance,
            "type": if key.warning { "Warning" } else { "Normal" },
            "reason": key.reason,
            "action": key.action,
            "note": note,
            "regarding": {
                "apiVersion": key.gvr.api_version(), "kind": kind, "uid": key.uid,
                "namespace": &*key.object.namespace, "name": &*key.object.name,
            },
        });
        let target = Target::collection("events.k8s.io/v1/events", namespace)?;
        let request = target.request(Method::POST).query("fieldManager", self.reporter());
        let write = Write { verb: WriteVerb::Create, dry_run: false, name: &name, may_create: false };
        self.audited(write, &target, || request.body(JSON, object.to_string())).await?;
        self.sources.client.0.series.begin(key, name, Instant::now());
        Ok(())
    }

    /// The same again.
    async fn count(&mut self, namespace: &str, name: String, count: u32) -> Result<(), ApiError> {
        let series = json!({"count": count, "lastObservedTime": micro_time(jiff::Timestamp::now())});
        let key = types::ObjectKey { namespace: namespace.to_owned(), name };
        let target = Target::object("events.k8s.io/v1/events", key, String::new())?;
        let request = target.request(Method::PATCH).query("fieldManager", self.reporter());
        let write = Write { verb: WriteVerb::Patch, dry_run: false, name: target.name(), may_create: false };
        let body = json!({"series": series}).to_string();
        self.audited(write, &target, || request.body("application/merge-patch+json", body)).await.map(drop)
    }

    /// What the cache has is no secret to whoever may read it, or was just told of it.
    fn may_regard(&self, regarding: &Target) -> Result<(), ApiError> {
        let Target { gvr, namespace, .. } = regarding;
        let granted = self.config.grants.read.as_ref().and_then(|read| read.namespaces(gvr));
        let in_hand = || self.call.objects.contain(gvr, namespace, regarding.name());
        if granted.is_some_and(|granted| granted.contains(namespace)) || in_hand() {
            return Ok(());
        }
        Err(self.refuse(&format!("reading {regarding}, for an Event about it,"), "read"))
    }

    /// Of the object as the cache has it: `kubectl describe` finds its Events by both.
    fn kind_and_uid(&self, regarding: &Target) -> Result<(String, String), ApiError> {
        let key = ObjectKey::new(regarding.namespace.as_str(), regarding.name());
        let unknown = |why: String| ApiError::host(ApiCode::NotFound, why);
        let found = self.sources.lister.get(&regarding.gvr, &key);
        let Some(object) = found.map_err(|error| unknown(error.to_string()))? else {
            return Err(unknown(format!("{regarding} is not in the host's cache")));
        };
        let json = object.json().map_err(|error| ApiError::host(ApiCode::Internal, error.to_string()))?;
        let kind = text(json.as_bytes(), "/kind");
        if kind.is_empty() || kind == "PartialObjectMetadata" {
            let message = format!("the host keeps no kind of {regarding}: its [[watch]] is of metadata only");
            return Err(ApiError::bad_argument(message));
        }
        Ok((kind, object.uid().to_owned()))
    }

    fn reporter(&self) -> String {
        format!("informer/{}", self.config.name)
    }
}

/// What the API server would refuse, told before.
fn check(event: &ObjectEvent) -> Result<(), ApiError> {
    for (name, word) in [("reason", &event.reason), ("action", &event.action)] {
        let fits =
            (1..=WORD_BYTES).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !fits {
            let word = shown(word);
            let message = format!("the {name} of an event is one word in CamelCase, and not {word:?}");
            return Err(ApiError::bad_argument(message));
        }
    }
    if event.note.len() > NOTE_BYTES {
        let message =
            format!("the note of an event has {} bytes, and {NOTE_BYTES} are allowed", event.note.len());
        return Err(ApiError::bad_argument(message));
    }
    Ok(())
}

/// An Event's name is a DNS subdomain, and not every object's is.
fn event_name(object: &str) -> String {
    let fits = |character: char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '-' | '.')
    };
    let name: String = object
        .chars()
        .take(NAME_BYTES)
        .map(|character| if fits(character) { character } else { '-' })
        .collect();
    name.trim_matches(['-', '.']).replace("..", ".")
}

/// `metav1.MicroTime`
fn micro_time(at: jiff::Timestamp) -> String {
    format!("{at:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(reason: &str) -> Key {
        Key {
            gvr: Gvr::new("", "v1", "pods"),
            object: ObjectKey::new("shop", "web"),
            uid: "1".to_owned(),
            warning: false,
            reason: reason.to_owned(),
            action: "Scaling".to_owned(),
        }
    }

    #[test]
    fn the_same_event_is_counted_for_ten_minutes_after_the_last() {
        let (series, start) = (EventSeries::default(), Instant::now());
        let minutes = |minutes: u64| start + Duration::from_secs(60 * minutes);
        assert_eq!(series.again(&key("ScaledUp"), start), None);
        series.begin(key("ScaledUp"), "web.1".to_owned(), start);

        assert_eq!(series.again(&key("ScaledUp"), minutes(9)), Some(("web.1".to_owned(), 2)));
        assert_eq!(series.again(&key("ScaledDown"), minutes(9)), None, "another reason");
        assert_eq!(series.again(&key("ScaledUp"), minutes(18)), Some(("web.1".to_owned(), 3)));
        assert_eq!(series.again(&key("ScaledUp"), minutes(28)), None, "ten minutes of silence");
    }

    #[test]
    fn a_bounded_number_of_series_is_remembered() {
        let (series, start) = (EventSeries::default(), Instant::now());
        for index in 0..=REMEMBERED {
            series.begin(key(&format!("R{index}")), format!("web.{index}"), start);
        }

        assert_eq!(series.0.lock().len(), REMEMBERED);
        assert_eq!(series.again(&key("R0"), start), None);
        assert!(series.again(&key("R1"), start).is_some());
    }

    #[test]
    fn an_event_of_any_object_has_a_name_the_server_takes() {
        assert_eq!(event_name("web-1.x"), "web-1.x");
        assert_eq!(event_name("system:node:A"), "system-node");
        assert_eq!(event_name(&"x".repeat(300)).len(), NAME_BYTES);
    }

    #[test]
    fn a_micro_time_has_six_digits() {
        let at: jiff::Timestamp = "2026-11-21T15:50:36Z".parse().unwrap();
        assert_eq!(micro_time(at), "2026-11-21T15:50:36.000000Z");
    }
}
