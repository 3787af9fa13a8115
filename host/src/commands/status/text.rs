//! The answer of the admin endpoint, for a person.

use std::{fmt::Write, net::SocketAddr};

use serde_json::Value;

use crate::commands::output::{entries, word};

/// The entries of a list of sentences.
pub(super) fn sentences<'a>(status: &'a Value, list: &str) -> impl Iterator<Item = &'a str> {
    entries(status, list).filter_map(Value::as_str)
}

/// The host, its watches and its plugins, one line each; below each what is wrong with it.
pub(super) fn text(status: &Value, address: SocketAddr) -> String {
    let well = ["unready", "degraded"].map(|list| sentences(status, list).next().is_none());
    let verdict = match well {
        [true, true] => "all is well",
        [true, false] => "ready, but not everything works",
        [false, _] => "not ready",
    };
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(text, "informer {} at {address}: {verdict}", word(status, "version"));
    for informer in entries(status, "informers") {
        let _ = writeln!(text, "watch {}", watch(informer));
        for trouble in entries(informer, "troubles") {
            let _ = writeln!(text, "  {}", word(trouble, "text"));
        }
        let silent = entries(informer, "troubles").next().is_none();
        if let Some(reason) = informer.get("unsynced-because").and_then(Value::as_str).filter(|_| silent) {
            let _ = writeln!(text, "  {reason}");
        }
    }
    for one in entries(status, "plugins") {
        let _ = writeln!(text, "plugin {}", plugin(one));
    }
    text
}

/// `v1/pods: watching, synced, 12 objects, resource version 345, last event 7 s ago`
fn watch(informer: &Value) -> String {
    let synced = informer.get("synced") == Some(&Value::Bool(true));
    let mut text = format!(
        "{}: {}, {}, {}",
        word(informer, "watch"),
        word(informer, "phase"),
        if synced { "synced" } else { "not synced" },
        counted(number(informer, "objects"), "object"),
    );
    if informer.get("superseded") == Some(&Value::Bool(true)) {
        text.push_str(", serves until the changed watch takes over");
    }
    if let Some(version) = informer.get("last-synced-version").and_then(Value::as_str) {
        let _ = write!(text, ", resource version {version}");
    }
    let ages =
        entries(informer, "reflectors").filter_map(|reflector| reflector.get("last-event-age-ms")?.as_u64());
    if let Some(age) = ages.min() {
        let _ = write!(text, ", last event {} s ago", age / 1_000);
    }
    text
}

/// `ttl: ttl 1.2.0 in service, 12 calls acknowledged, 3 notifications pending, 0 dead letters`
fn plugin(plugin: &Value) -> String {
    let null = Value::Null;
    let at = |key: &str| plugin.get(key).unwrap_or(&null);
    let mut text = format!("{}: ", word(plugin, "name"));
    let version = at("version");
    if version.is_null() {
        text.push_str("no version in service");
    } else {
        let _ = write!(text, "{} {} in service", word(version, "guest"), word(version, "version"));
    }
    let queue = at("queue");
    let _ = write!(
        text,
        ", {} acknowledged, {} pending, {}",
        counted(number(at("calls"), "acknowledged"), "call"),
        counted(number(queue, "pending"), "notification"),
        counted(
            number(queue, "dead-letters") + entries(at("workqueue"), "dropped-keys").count() as u64,
            "dead letter"
        ),
    );
    if let Some(quarantine) = queue.get("quarantine").and_then(|quarantine| quarantine.get("text")?.as_str())
    {
        let _ = write!(text, "\n  {quarantine}");
    }
    if queue.get("behind") == Some(&Value::Bool(true)) {
        text.push_str("\n  more changes wait than its capacity: they merge for a while");
    }
    let keys = at("workqueue");
    if !keys.is_null() {
        let _ = write!(
            text,
            "\n  its workqueue: {} waiting, {} delayed, {} in hand, {} reconciled, {} failed, {} given up",
            counted(number(keys, "waiting"), "key"),
            number(keys, "delayed"),
            number(keys, "in-hand"),
            number(keys, "succeeded") + number(keys, "requeued"),
            number(keys, "failed"),
            number(keys, "dropped"),
        );
        if let Some(quarantine) =
            keys.get("quarantine").and_then(|quarantine| quarantine.get("text")?.as_str())
        {
            let _ = write!(text, "\n  its reconciler is {quarantine}");
        }
    }
    if let Some(refused) = at("refused").as_str() {
        let _ = write!(text, "\n  its file is refused: {refused}");
    }
    if let Some(failure) = at("calls").get("last-failure").and_then(Value::as_str) {
        let _ = write!(text, "\n  its last failed call: {failure}");
    }
    text.push_str(&requests(at("calls").get("client").unwrap_or(&null)));
    for subscription in entries(plugin, "subscriptions") {
        text.push_str(&filtered(subscription));
    }
    text
}

/// What became of its requests to the API server; nothing where all is well.
fn requests(client: &Value) -> String {
    let count = |key: &str| number(client, key);
    let (failed, refused, limited) = (count("failed"), count("refused"), count("limited"));
    let mut text = String::new();
    if (failed, refused, limited) != (0, 0, 0) {
        let _ = write!(
            text,
            "\n  of {} to the API server {failed} failed; {refused} not granted and {limited} beyond its limit were not sent",
            counted(count("requests"), "request"),
        );
    }
    match count("events-suppressed") {
        0 => {}
        left_out => {
            let _ = write!(text, "\n  left out {}: too many about one object", counted(left_out, "Event"));
        }
    }
    text
}

/// `on v1/pods: 5 of 12 notifications passed; suppressed 4 by labels, 3 by when`; nothing of a subscription to
/// everything.
fn filtered(subscription: &Value) -> String {
    let null = Value::Null;
    let suppressed = subscription.get("suppressed").and_then(Value::as_object);
    let by: Vec<(&str, u64)> = suppressed
        .into_iter()
        .flatten()
        .filter_map(|(condition, count)| {
            Some((condition.as_str(), count.as_u64().filter(|count| *count > 0)?))
        })
        .collect();
    let mut text = String::new();
    if !by.is_empty() {
        let passed = number(subscription, "passed");
        let all = passed + by.iter().map(|(_, count)| count).sum::<u64>();
        let by: Vec<String> = by.iter().map(|(condition, count)| format!("{count} by {condition}")).collect();
        let _ = write!(
            text,
            "\n  on {}: {passed} of {} passed; suppressed {}",
            word(subscription, "watch"),
            counted(all, "notification"),
            by.join(", ")
        );
    }
    let when = subscription.get("when").unwrap_or(&null);
    if let Some(error) = when.get("last-error").and_then(Value::as_str) {
        let _ = write!(
            text,
            "\n  on {}: `when` had no answer {} of {}, and what it was asked about passed: {error}",
            word(subscription, "watch"),
            counted(number(when, "errors"), "time"),
            number(when, "evaluations"),
        );
    }
    text
}

fn number(of: &Value, key: &str) -> u64 {
    of.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(status: &Value) -> Vec<String> {
        text(status, ([127, 0, 0, 1], 8080).into()).lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_wrong_stands_below_what_it_is_wrong_with() {
        let status = json!({
            "version": "0.1.0", "unready": ["v1/pods: ..."], "degraded": [],
            "informers": [
                {"watch": "v1/pods", "phase": "backing-off", "synced": false, "objects": 0,
                 "unsynced-because": "cannot list v1/pods", "troubles": [{"text": "cannot list v1/pods; failed once"}]},
                {"watch": "v1/nodes", "phase": "listing", "synced": false, "objects": 0, "troubles": [],
                 "unsynced-because": "the first list of v1/nodes is not complete yet"},
                {"watch": "v1/secrets", "phase": "watching", "synced": true, "objects": 3, "troubles": [],
                 "last-synced-version": "77", "reflectors": [{"last-event-age-ms": 9000}, {"last-event-age-ms": 7900}]},
            ],
            "plugins": [
                {"name": "echo", "version": null, "refused": "not a component", "calls": {"acknowledged": 0},
                 "queue": {"pending": 2, "behind": true, "quarantine": {"text": "in quarantine for 7 s"}}},
                {"name": "ttl", "version": {"guest": "ttl", "version": "1.2.0"},
                 "calls": {"acknowledged": 12, "last-failure": "trap: unreachable",
                    "client": {"requests": 9, "failed": 2, "refused": 3, "limited": 0,
                               "events-suppressed": 15}},
                 "subscriptions": [{"watch": "v1/pods", "passed": 5, "suppressed": {"labels": 4, "when": 3, "events": 0},
                    "when": {"evaluations": 8, "errors": 1, "last-error": "there is no `spec`"}},
                    {"watch": "v1/nodes", "passed": 7, "suppressed": {"labels": 0}, "when": {"last-error": null}}], "queue": {"pending": 0, "dead-letters": 1},
                 "workqueue": {"waiting": 1, "delayed": 2, "in-hand": 3, "succeeded": 40, "requeued": 2, "failed": 5, "dropped": 6,
                               "dropped-keys": [{"key": "shop/a"}, {"key": "shop/b"}], "quarantine": {"text": "in quarantine for 8 s"}}},
            ],
        });

        assert_eq!(
            told(&status),
            [
                "informer 0.1.0 at 127.0.0.1:8080: not ready",
                "watch v1/pods: backing-off, not synced, 0 objects",
                "  cannot list v1/pods; failed once",
                "watch v1/nodes: listing, not synced, 0 objects",
                "  the first list of v1/nodes is not complete yet",
                "watch v1/secrets: watching, synced, 3 objects, resource version 77, last event 7 s ago",
                "plugin echo: no version in service, 0 calls acknowledged, 2 notifications pending, 0 dead letters",
                "  in quarantine for 7 s",
                "  more changes wait than its capacity: they merge for a while",
                "  its file is refused: not a component",
                "plugin ttl: ttl 1.2.0 in service, 12 calls acknowledged, 0 notifications pending, 3 dead letters",
                "  its workqueue: 1 key waiting, 2 delayed, 3 in hand, 42 reconciled, 5 failed, 6 given up",
                "  its reconciler is in quarantine for 8 s",
                "  its last failed call: trap: unreachable",
                "  of 9 requests to the API server 2 failed; 3 not granted and 0 beyond its limit were not sent",
                "  left out 15 Events: too many about one object",
                "  on v1/pods: 5 of 12 notifications passed; suppressed 4 by labels, 3 by when",
                "  on v1/pods: `when` had no answer 1 time of 8, and what it was asked about passed: there is no `spec`",
            ]
        );
    }

    #[test]
    fn an_answer_of_another_version_is_told_as_far_as_it_is_understood() {
        assert_eq!(told(&json!({})), ["informer ? at 127.0.0.1:8080: all is well"]);
        assert_eq!(told(&json!({"informers": [7], "plugins": "none"})).len(), 2);
    }
}
