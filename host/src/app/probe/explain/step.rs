//! A step, in words and in fields.

use informer_types::{Enqueued, Failure, KeyThen, Step, Then, Version};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    app::probe::{micros, millis},
    app::trace::Recorded,
};

/// `at`, `stage`, `plugin`, `verdict` and `detail` of every step, and its own fields.
pub(super) fn step(recorded: &Recorded) -> Value {
    let Recorded { at, traced } = recorded;
    let at = Timestamp::try_from(*at).ok().map(|at| at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string());
    let mut value = json!({
        "at": at,
        "stage": traced.step.stage(),
        "plugin": traced.plugin.as_deref(),
        "verdict": verdict(&traced.step),
        "detail": detail(&traced.step),
    });
    if let (Value::Object(value), Value::Object(fields)) = (&mut value, fields(&traced.step)) {
        value.extend(fields);
    }
    value
}

/// In a word.
fn verdict(step: &Step) -> &'static str {
    match step {
        Step::Seen { event, .. } => event.as_str(),
        Step::Undecodable { .. } => "undecodable",
        Step::Stored { old: None, .. } => "stored",
        Step::Stored { old: Some(_), .. } => "replaced",
        Step::Unchanged { .. } => "unchanged",
        Step::Removed { last: None, .. } => "absent",
        Step::Removed { last: Some(_), .. } => "removed",
        Step::Distributed { .. } | Step::Told { .. } => "told",
        Step::Withheld { .. } => "withheld",
        Step::Passed { .. } => "passed",
        Step::Suppressed { .. } => "dropped",
        Step::Undecided { .. } => "undecided",
        Step::Queued { .. } => "queued",
        Step::Merged { .. } => "merged",
        Step::Cancelled { .. } => "cancelled",
        Step::Discarded { .. } => "discarded",
        Step::Called { then, .. } => match then {
            Then::Acknowledged | Then::Recovered => "delivered",
            Then::Retry { .. } | Then::Quarantined { .. } => "failed",
            Then::DeadLetter => "dead-letter",
            Then::Dropped => "given-up",
            Then::GivenBack => "cut-short",
            Then::Discarded => "discarded",
        },
        Step::KeyAdded { led_to } => match led_to {
            Enqueued::Waits | Enqueued::WaitsAfterCall => "added",
            Enqueued::WaitsAlready | Enqueued::DueAlready => "merged",
            Enqueued::Delayed { .. } => "delayed",
        },
        Step::KeyRefused { .. } => "refused",
        Step::KeyTaken { .. } => "taken",
        Step::KeyDone { failure, then, .. } => match then {
            KeyThen::Done => "done",
            KeyThen::Again { .. } if failure.is_some() => "failed",
            KeyThen::Again { .. } => "again",
            KeyThen::GivenUp => "given-up",
            KeyThen::PutBack => "cut-short",
            KeyThen::Spared => "spared",
            KeyThen::Discarded => "discarded",
        },
        Step::KeyNotCalled { .. } => "not-called",
        Step::KeyDiscarded => "discarded",
    }
}

/// In a sentence.
fn detail(step: &Step) -> String {
    match step {
        Step::Seen { version, .. } => format!("version {version}"),
        Step::Undecodable { version } => format!("version {version}: what the cache has stays"),
        Step::Stored { cause, old: None, new } => format!("version {new} ({cause}): there was none"),
        Step::Stored { cause, old: Some(old), new } => format!("version {old} by {new} ({cause})"),
        Step::Unchanged { version } => format!("version {version} is in the cache already"),
        Step::Removed { cause, last: None } => {
            format!("({cause}): it was not in the cache; its deletion is told all the same")
        }
        Step::Removed { cause, last: Some(last) } => format!("version {last} ({cause})"),
        Step::Distributed { verb, cause, listeners } => {
            format!("{verb} ({cause}) to {listeners} listener{}", if *listeners == 1 { "" } else { "s" })
        }
        Step::Told { verb, cause } => format!("{verb} ({cause}) to this listener alone"),
        Step::Withheld { verb, version, known } => {
            format!("{verb} of version {version}: the plugin knows {known} by the watch before this one")
        }
        Step::Passed { offered, verb, cause } => match (*offered, *verb) {
            ("update", "add") => format!("update, told as add ({cause}): it came to match"),
            (_, "delete") if *offered != "delete" => {
                format!("{offered}, told as delete ({cause}): it matches no longer")
            }
            _ => format!("{verb} ({cause})"),
        },
        Step::Suppressed { verb, cause, by } => format!("{verb} ({cause}) by `{by}`"),
        Step::Undecided { why } => format!("{why}; it counts as satisfied"),
        Step::Queued { verb, cause } => format!("{verb} ({cause})"),
        Step::Merged { verb, cause, into } => format!("{verb} ({cause}) into what waits: {into}"),
        Step::Cancelled { verb } => {
            format!("{verb}: what waited goes too, the plugin never has to know of the object")
        }
        Step::Discarded { verb } => format!("{verb}: the queue is closed"),
        Step::Called { verb, cause, attempt, queued, took, failure, then } => format!(
            "{verb} ({cause}), call {attempt} after {queued:.1?}, took {took:.1?}{}{}",
            because(failure),
            afterwards(then)
        ),
        Step::KeyAdded { led_to } => added(led_to),
        Step::KeyRefused { capacity } => {
            format!("the workqueue holds {capacity} keys, which is `capacity` of [plugin.workqueue]")
        }
        Step::KeyTaken { attempt, waited } => format!("the key, for call {attempt}, after {waited:.1?}"),
        Step::KeyDone { attempt, took, failure, then } => {
            format!("call {attempt} took {took:.1?}{}{}", because(failure), after_call(then))
        }
        Step::KeyNotCalled { again_in } => {
            format!("the version in service takes no keys; tried again in {again_in:.1?}")
        }
        Step::KeyDiscarded => "the workqueue is closed".to_owned(),
    }
}

fn because(failure: &Option<Box<Failure>>) -> String {
    failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default()
}

fn added(led_to: &Enqueued) -> String {
    match led_to {
        Enqueued::Waits => "the key waits for a worker".to_owned(),
        Enqueued::WaitsAlready => "the key waits already".to_owned(),
        Enqueued::WaitsAfterCall => "the key is in hand, and waits again afterwards".to_owned(),
        Enqueued::Delayed { by } => format!("the key waits in {by:.1?}"),
        Enqueued::DueAlready => "the key is due no later already".to_owned(),
    }
}

fn after_call(then: &KeyThen) -> String {
    match then {
        KeyThen::Done => String::new(),
        KeyThen::Again { after } => format!("; again in {after:.1?}"),
        KeyThen::GivenUp => "; the key is a dead letter until it is reconciled".to_owned(),
        KeyThen::PutBack => "; the key waits as before".to_owned(),
        KeyThen::Spared => "; the plugin is in quarantine, and the key waits".to_owned(),
        KeyThen::Discarded => "; the workqueue is closed".to_owned(),
    }
}

fn afterwards(then: &Then) -> String {
    match then {
        Then::Acknowledged | Then::DeadLetter | Then::Dropped => String::new(),
        Then::Recovered => "; the quarantine is over".to_owned(),
        Then::Retry { after, superseded: false } => format!("; again in {after:.1?}"),
        Then::Retry { after, superseded: true } => format!("; again in {after:.1?}, in its newer state"),
        Then::Quarantined { probe_in } => {
            format!("; it does not count, the plugin is in quarantine and tried in {probe_in:.1?}")
        }
        Then::GivenBack => "; it waits as before".to_owned(),
        Then::Discarded => "; the queue is closed".to_owned(),
    }
}

/// What the words say, for a program.
fn fields(step: &Step) -> Value {
    let text = |version: &Option<Version>| version.map(|version| version.to_string());
    match step {
        Step::Seen { version, .. } | Step::Undecodable { version } | Step::Unchanged { version } => {
            json!({ "version": version.as_str() })
        }
        Step::Stored { cause, old, new } => {
            json!({ "cause": cause.as_str(), "old-version": text(old), "version": new.as_str() })
        }
        Step::Removed { cause, last } => json!({ "cause": cause.as_str(), "old-version": text(last) }),
        Step::Distributed { verb, cause, listeners } => {
            json!({ "verb": verb, "cause": cause.as_str(), "listeners": listeners })
        }
        Step::Told { verb, cause } | Step::Queued { verb, cause } => {
            json!({ "verb": verb, "cause": cause.as_str() })
        }
        Step::Withheld { verb, version, known } => {
            json!({ "verb": verb, "version": version.as_str(), "known-version": known.as_str() })
        }
        Step::Passed { offered, verb, cause } => {
            json!({ "offered": offered, "verb": verb, "cause": cause.as_str() })
        }
        Step::Suppressed { verb, cause, by } => json!({ "verb": verb, "cause": cause.as_str(), "by": by }),
        Step::Undecided { why } => json!({ "why": why }),
        Step::Merged { verb, cause, into } => json!({ "verb": verb, "cause": cause.as_str(), "into": into }),
        Step::Cancelled { verb } | Step::Discarded { verb } => json!({ "verb": verb }),
        Step::Called { verb, cause, attempt, queued, took, failure, then } => json!({
            "verb": verb, "cause": cause.as_str(), "attempt": attempt,
            "queued-ms": millis(*queued), "took-us": micros(*took),
            "failure": failure.as_deref().map(Failure::to_string),
            "retry-in-ms": match then { Then::Retry { after, .. } => Some(millis(*after)), _ => None },
        }),
        Step::KeyAdded { led_to } => match led_to {
            Enqueued::Delayed { by } => json!({ "delay-ms": millis(*by) }),
            _ => json!({}),
        },
        Step::KeyRefused { capacity } => json!({ "capacity": capacity }),
        Step::KeyTaken { attempt, waited } => json!({ "attempt": attempt, "queued-ms": millis(*waited) }),
        Step::KeyDone { attempt, took, failure, then } => json!({
            "attempt": attempt, "took-us": micros(*took),
            "failure": failure.as_deref().map(Failure::to_string),
            "retry-in-ms": match then { KeyThen::Again { after } => Some(millis(*after)), _ => None },
        }),
        Step::KeyNotCalled { again_in } => json!({ "retry-in-ms": millis(*again_in) }),
        Step::KeyDiscarded => json!({}),
    }
}
