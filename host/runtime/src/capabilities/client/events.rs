//! Events of `events.k8s.io/v1`. A repeated event raises the count of its series instead of creating another Event.
//!
//! As in client-go's events recorder, events with the same object, type, reason and action make a series. A series ends ten
//! minutes after its last event, or when the server deletes the Event (after an hour by default). The number of Events about
//! one object is limited, too (`spam_filter`).

mod series;
mod spam_filter;

use std::time::Instant;

use http::Method;
use informer_types::{Gvr, ObjectKey, WriteVerb};
use serde_json::json;

use super::{audit::Write, body::text, draft::JSON, error::shown, gate::Calls, target::Target};
use crate::bindings::informer::plugin::{
    client::{ApiCode, ApiError, ObjectEvent},
    types,
};

pub(super) use series::EventSeries;
use series::Key;
pub(super) use spam_filter::SpamFilter;

/// The limits of the API server (`k8s.io/kubernetes/pkg/apis/core/validation/events.go`).
const WORD_BYTES: usize = 128;
const NOTE_BYTES: usize = 1024;
const CONTROLLER_BYTES: usize = 63;

/// The most characters of the object's name in the name of its Event, which has 253 bytes and ends in a number.
const NAME_BYTES: usize = 200;

/// The start of the Event's name if the object's name has no letter and no digit that may be in it.
const NAMELESS: &str = "object";

/// An event that the plugin may record.
struct Recorded<'a> {
    /// The namespace of the Event.
    namespace: &'a str,
    key: Key,
    /// The kind of the object that the event is about.
    kind: String,
    note: String,
}

/// An event that is not written yet. The event does not count if its request fails, or if the call reaches its deadline, which drops
/// the request.
struct Unwritten<'a> {
    spam: &'a SpamFilter,
    /// The series, if the event was counted in one.
    counted_in: Option<&'a EventSeries>,
    /// `None` once the event is written.
    key: Option<&'a Key>,
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        self.spam.give_back(key);
        if let Some(series) = self.counted_in {
            series.take_back(key);
        }
    }
}

/// Records an event: counts it in its series, or creates an Event that starts a series.
pub(super) async fn record(calls: &mut Calls<'_>, event: ObjectEvent) -> Result<(), ApiError> {
    check(&event)?;
    let regarding = Target::object(&event.gvr, event.regarding.clone(), String::new())?;
    let events = Gvr::new("events.k8s.io", "v1", "events");
    // The Events of an object without a namespace are in `default`.
    let namespace = match regarding.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    let grants = calls.0.config.grants.write.as_ref();
    if !grants.is_some_and(|grants| grants.allow(WriteVerb::Create, &events, None, namespace)) {
        let what = format!("an Event in namespace {namespace}, which is create of {events},");
        return Err(calls.refuse(&what, "write"));
    }
    may_regard(calls, &regarding)?;
    let (kind, uid) = kind_and_uid(calls, &regarding)?;
    let key = Key {
        gvr: regarding.gvr.clone(),
        object: ObjectKey::new(regarding.namespace.as_str(), regarding.name()),
        uid,
        warning: event.warning,
        reason: event.reason.clone(),
        action: event.action.clone(),
    };
    within_limit(calls, &Recorded { namespace, key, kind, note: event.note }).await
}

/// Writes an event, or drops it if there are too many about its object.
async fn within_limit(calls: &mut Calls<'_>, recorded: &Recorded<'_>) -> Result<(), ApiError> {
    let client = calls.0.sources.client.clone();
    let (spam, series, key) = (&client.0.spam, &client.0.series, &recorded.key);
    if !spam.admits(key, Instant::now()) {
        calls.0.counters.client.lock().events_suppressed += 1;
        return Ok(());
    }
    let again = series.again(key, Instant::now());
    let counted_in = again.is_some().then_some(series);
    let mut unwritten = Unwritten { spam, counted_in, key: Some(key) };
    write(calls, recorded, again).await?;
    unwritten.key = None;
    Ok(())
}

/// Raises the count of a series, or creates an Event. If the event continues a series, `again` has the name and the new count of the
/// series.
async fn write(
    calls: &mut Calls<'_>,
    recorded: &Recorded<'_>,
    again: Option<(String, u32)>,
) -> Result<(), ApiError> {
    if let Some((name, count)) = again {
        match raise_count(calls, recorded.namespace, name, count).await {
            // The server deletes old Events.
            Err(error) if error.code == ApiCode::NotFound => {}
            counted => return counted,
        }
    }
    make(calls, recorded).await
}

/// Creates the Event that starts a series.
async fn make(calls: &mut Calls<'_>, recorded: &Recorded<'_>) -> Result<(), ApiError> {
    let Recorded { namespace, key, kind, note } = recorded;
    let now = jiff::Timestamp::now();
    let name = format!("{}.{:x}", event_name(&key.object.name), now.as_nanosecond());
    let object = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": micro_time(now),
        "reportingController": controller(&calls.0.config.name),
        "reportingInstance": calls.0.sources.client.0.instance,
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
    let request = target.request(Method::POST).query("fieldManager", reporter(calls));
    let write = Write { name: &name, ..Write::new(WriteVerb::Create, &target, false) };
    calls.audited(write, || request.body(JSON, object.to_string())).await?;
    calls.0.sources.client.0.series.begin(key.clone(), name, Instant::now());
    Ok(())
}

/// Raises the count of a series.
async fn raise_count(
    calls: &mut Calls<'_>,
    namespace: &str,
    name: String,
    count: u32,
) -> Result<(), ApiError> {
    let series = json!({"count": count, "lastObservedTime": micro_time(jiff::Timestamp::now())});
    let key = types::ObjectKey { namespace: namespace.to_owned(), name };
    let target = Target::object("events.k8s.io/v1/events", key, String::new())?;
    let request = target.request(Method::PATCH).query("fieldManager", reporter(calls));
    let write = Write::new(WriteVerb::Patch, &target, false);
    let body = json!({"series": series}).to_string();
    calls.audited(write, || request.body("application/merge-patch+json", body)).await.map(drop)
}

/// Checks that the plugin may see the object: it may read the object, or this call is about it.
fn may_regard(calls: &Calls<'_>, regarding: &Target) -> Result<(), ApiError> {
    let Target { gvr, namespace, .. } = regarding;
    let granted = calls.0.config.grants.read.as_ref().and_then(|read| read.namespaces(gvr));
    let in_call = || calls.0.call.objects.contain(gvr, namespace, regarding.name());
    if granted.is_some_and(|granted| granted.contains(namespace)) || in_call() {
        return Ok(());
    }
    Err(calls.refuse(&format!("reading {regarding}, for an Event about it,"), "read"))
}

/// The kind and the UID of the cached object: `kubectl describe` finds Events by both.
fn kind_and_uid(calls: &Calls<'_>, regarding: &Target) -> Result<(String, String), ApiError> {
    let key = ObjectKey::new(regarding.namespace.as_str(), regarding.name());
    let unknown = |why: String| ApiError::host(ApiCode::NotFound, why);
    let found = calls.0.sources.lister.get(&regarding.gvr, &key);
    let Some(object) = found.map_err(|error| unknown(error.to_string()))? else {
        return Err(unknown(format!("{regarding} is not in the host's cache")));
    };
    let json = object.json().map_err(|error| ApiError::host(ApiCode::Internal, error.to_string()))?;
    let kind = text(json.as_bytes(), "/kind");
    if kind.is_empty() || kind == "PartialObjectMetadata" {
        let message = format!("the kind of {regarding} is unknown: its [[watch]] keeps metadata only");
        return Err(ApiError::bad_argument(message));
    }
    Ok((kind, object.uid().to_string()))
}

fn reporter(calls: &Calls<'_>) -> String {
    format!("informer/{}", calls.0.config.name)
}

/// The plugin as a qualified name, which Events require: at most 63 characters after one `/`, so `shop/reloader` becomes
/// `informer/shop.reloader`.
fn controller(plugin: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let name: String = plugin.chars().map(|one| if fits(one) { one } else { '.' }).collect();
    let end = name.get(name.len().saturating_sub(CONTROLLER_BYTES)..).unwrap_or_default();
    format!("informer/{}", end.trim_matches(|end: char| !end.is_ascii_alphanumeric()))
}

/// Refuses an event that the API server would refuse.
fn check(event: &ObjectEvent) -> Result<(), ApiError> {
    for (name, word) in [("reason", &event.reason), ("action", &event.action)] {
        let fits =
            (1..=WORD_BYTES).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !fits {
            let word = shown(word);
            let message = format!(
                "the {name} of an event must be one word in CamelCase of at most {WORD_BYTES} letters and digits, not {word:?}"
            );
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

/// The start of the Event's name. It is always a DNS subdomain, which not every object's name is: the names of RBAC objects may
/// have capitals, colons and empty labels. A name that is a DNS subdomain stays as it is, up to the limit.
fn event_name(object: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '.');
    let name: String = object
        .chars()
        .take(NAME_BYTES)
        .map(|character| if fits(character) { character.to_ascii_lowercase() } else { '-' })
        .collect();
    let labels = name.split('.').map(|label| label.trim_matches('-')).filter(|label| !label.is_empty());
    let name = labels.collect::<Vec<_>>().join(".");
    if name.is_empty() { NAMELESS.to_owned() } else { name }
}

/// The text of a `metav1.MicroTime`.
fn micro_time(at: jiff::Timestamp) -> String {
    format!("{at:.6}")
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, sync::Arc, time::Duration};

    use futures::{
        FutureExt,
        future::{BoxFuture, pending},
    };

    use super::{series::tests::key, *};
    use crate::{
        capabilities::{ApiAnswer, ApiClient, ApiFailure, ApiRequest, ClientSource},
        guest::{Attempt, tests::idle},
    };

    /// A server that never answers.
    struct Silent;

    impl ApiClient for Silent {
        fn send(&self, _: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
            Box::pin(pending())
        }
    }

    /// The deadline of a call drops the future of its request.
    #[tokio::test]
    async fn an_event_whose_request_is_cut_off_counts_neither_for_the_limit_nor_in_its_series() {
        let mut guest = idle(|config| config.limits.requests = NonZeroU32::MAX);
        let client = ClientSource::new(Arc::new(Silent), "host-1");
        guest.sources.client = client.clone();
        guest.begin(Duration::from_secs(60), Attempt::default(), None);
        let (kind, note) = ("Pod".to_owned(), "two replicas".to_owned());
        let recorded = Recorded { namespace: "shop", key: key("ScaledUp"), kind, note };
        client.0.series.begin(recorded.key.clone(), "web.1".to_owned(), Instant::now());
        let mut calls = Calls(&mut guest);

        for _ in 0..30 {
            let writing = within_limit(&mut calls, &recorded);
            assert!(writing.now_or_never().is_none(), "the server does not answer");
        }

        assert_eq!(guest.counters.client.lock().requests, 30);
        assert_eq!(client.0.series.again(&recorded.key, Instant::now()), Some(("web.1".to_owned(), 2)));
    }

    #[test]
    fn the_event_of_any_object_has_a_valid_name() {
        assert_eq!(event_name("web-1.x"), "web-1.x");
        assert_eq!(event_name("system:node:A"), "system-node-a");
        assert_eq!(event_name(&"x".repeat(300)).len(), NAME_BYTES);
        assert_eq!(event_name(&format!("{}.x", "x".repeat(NAME_BYTES - 1))), "x".repeat(NAME_BYTES - 1));
    }

    #[test]
    fn each_label_of_an_events_name_has_letters_or_digits_at_its_ends() {
        for (object, expected) in [
            ("ADMIN", "admin"),
            ("a.B.c", "a.b.c"),
            ("a.:.c", "a.c"),
            ("a...b", "a.b"),
            ("a....b", "a.b"),
            ("a-.-b", "a.b"),
            (".-a.", "a"),
            ("\u{e4}b", "b"),
            (":", NAMELESS),
            ("", NAMELESS),
        ] {
            assert_eq!(event_name(object), expected, "{object}");
        }
    }

    #[test]
    fn the_controller_of_an_event_is_a_qualified_name_whatever_the_plugin_is_called() {
        assert_eq!(controller("hello-1"), "informer/hello-1");
        assert_eq!(controller("shop/reloader"), "informer/shop.reloader");
        assert_eq!(controller("cluster:janitor"), "informer/cluster.janitor");
        let long = controller(&format!("{}/{}", "n".repeat(63), "p".repeat(52)));
        assert_eq!(long.len(), "informer/".len() + CONTROLLER_BYTES);
    }

    #[test]
    fn a_micro_time_has_six_digits() {
        let at: jiff::Timestamp = "2026-11-21T15:50:36Z".parse().unwrap();
        assert_eq!(micro_time(at), "2026-11-21T15:50:36.000000Z");
    }
}
