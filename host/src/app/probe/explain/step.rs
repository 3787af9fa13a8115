//! One step, in words and as values.

use informer_types::{Cause, Enqueued, Failure, KeyThen, Step, Then};
use jiff::Timestamp;

use crate::{
    admin::types::{self, StepFields, micros, millis},
    app::trace::Recorded,
};

pub(super) fn step(recorded: &Recorded) -> types::Step {
    let Recorded { at, traced } = recorded;
    types::Step {
        at: Timestamp::try_from(*at).ok().map(|at| at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()),
        stage: traced.step.stage().to_owned(),
        plugin: traced.plugin.as_deref().map(str::to_owned),
        verdict: verdict(&traced.step).to_owned(),
        detail: detail(&traced.step),
        fields: fields(&traced.step),
    }
}

/// The decision in a word.
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
        Step::KeyDiscarded => "discarded",
    }
}

/// The decision in a sentence.
fn detail(step: &Step) -> String {
    match step {
        Step::Seen { version, .. } => format!("version {version}"),
        Step::Undecodable { version } => format!("version {version}: the state in the cache stays"),
        Step::Stored { cause, old: None, new } => format!("version {new} ({cause}), as a new object"),
        Step::Stored { cause, old: Some(old), new } => format!("version {old} by {new} ({cause})"),
        Step::Unchanged { version } => format!("version {version} is in the cache already"),
        Step::Removed { cause, last: None } => {
            format!("({cause}): it was not in the cache; its deletion is delivered all the same")
        }
        Step::Removed { cause, last: Some(last) } => format!("version {last} ({cause})"),
        Step::Distributed { verb, cause, listeners } => {
            format!("{verb} ({cause}) to {listeners} listener{}", if *listeners == 1 { "" } else { "s" })
        }
        Step::Told { verb, cause } => format!("{verb} ({cause}) to this listener alone"),
        Step::Withheld { verb, version, known } => {
            format!(
                "{verb} of version {version}: the plugin has received {known} from the watch before this one"
            )
        }
        Step::Passed { offered, verb, cause } => match (*offered, *verb) {
            ("update", "add") => format!("update, delivered as add ({cause}): it came to match"),
            (_, "delete") if *offered != "delete" => {
                format!("{offered}, delivered as delete ({cause}): it matches no longer")
            }
            _ => format!("{verb} ({cause})"),
        },
        Step::Suppressed { verb, cause, by } => format!("{verb} ({cause}) by `{by}`"),
        Step::Undecided { why } => format!("{why}; it counts as satisfied"),
        Step::Queued { verb, cause } => format!("{verb} ({cause})"),
        Step::Merged { verb, cause, into } => format!("{verb} ({cause}) into the pending {into}"),
        Step::Cancelled { verb } => {
            format!("{verb}: it cancels the pending notification; the plugin never saw the object")
        }
        Step::Discarded { verb } => format!("{verb}: the queue is closed"),
        Step::Called { verb, cause, attempt, queued, took, failure, then } => format!(
            "{verb} ({cause}), call {attempt} after {queued:.1?}, took {took:.1?}{}{}",
            because(failure),
            afterwards(then)
        ),
        Step::KeyAdded { led_to } => added(led_to),
        Step::KeyRefused { capacity } => {
            format!("the workqueue holds {capacity} keys, its `capacity` under [plugin.workqueue]")
        }
        Step::KeyTaken { attempt, waited } => format!("the key, for call {attempt}, after {waited:.1?}"),
        Step::KeyDone { attempt, took, failure, then } => {
            format!("call {attempt} took {took:.1?}{}{}", because(failure), after_call(then))
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
        Enqueued::WaitsAfterCall => "the key is in flight, and waits again afterwards".to_owned(),
        Enqueued::Delayed { by } => format!("the key is due in {by:.1?}"),
        Enqueued::DueAlready => "the key is due at the same time or earlier already".to_owned(),
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
            format!(
                "; the failure does not count: the plugin is in quarantine, with the next probe in {probe_in:.1?}"
            )
        }
        Then::GivenBack => "; it is pending again".to_owned(),
        Then::Discarded => "; the queue is closed".to_owned(),
    }
}

/// The values of the step, for a program.
fn fields(step: &Step) -> StepFields {
    let none = StepFields::default();
    match step {
        Step::Seen { version, .. } | Step::Undecodable { version } | Step::Unchanged { version } => {
            StepFields { version: text(version), ..none }
        }
        Step::Stored { cause, old, new } => {
            StepFields { old_version: old.as_ref().and_then(text), version: text(new), ..caused(cause) }
        }
        Step::Removed { cause, last } => {
            StepFields { old_version: last.as_ref().and_then(text), ..caused(cause) }
        }
        Step::Distributed { verb, cause, listeners } => {
            StepFields { listeners: Some(*listeners), ..notification(verb, cause) }
        }
        Step::Told { verb, cause } | Step::Queued { verb, cause } => notification(verb, cause),
        Step::Withheld { verb, version, known } => {
            StepFields { verb: text(verb), version: text(version), known_version: text(known), ..none }
        }
        Step::Passed { offered, verb, cause } => {
            StepFields { offered: text(offered), ..notification(verb, cause) }
        }
        Step::Suppressed { verb, cause, by } => StepFields { by: text(by), ..notification(verb, cause) },
        Step::Undecided { why } => StepFields { why: text(why), ..none },
        Step::Merged { verb, cause, into } => StepFields { into: text(into), ..notification(verb, cause) },
        Step::Cancelled { verb } | Step::Discarded { verb } => StepFields { verb: text(verb), ..none },
        Step::Called { verb, cause, attempt, queued, took, failure, then } => StepFields {
            attempt: Some(*attempt),
            queued_ms: Some(millis(*queued)),
            took_us: Some(micros(*took)),
            failure: failure.as_deref().map(Failure::to_string),
            retry_in_ms: match then {
                Then::Retry { after, .. } => Some(millis(*after)),
                _ => None,
            },
            ..notification(verb, cause)
        },
        Step::KeyAdded { led_to: Enqueued::Delayed { by } } => {
            StepFields { delay_ms: Some(millis(*by)), ..none }
        }
        Step::KeyAdded { .. } | Step::KeyDiscarded => none,
        Step::KeyRefused { capacity } => StepFields { capacity: Some(*capacity), ..none },
        Step::KeyTaken { attempt, waited } => {
            StepFields { attempt: Some(*attempt), queued_ms: Some(millis(*waited)), ..none }
        }
        Step::KeyDone { attempt, took, failure, then } => StepFields {
            attempt: Some(*attempt),
            took_us: Some(micros(*took)),
            failure: failure.as_deref().map(Failure::to_string),
            retry_in_ms: match then {
                KeyThen::Again { after } => Some(millis(*after)),
                _ => None,
            },
            ..none
        },
    }
}

fn notification(verb: &str, cause: &Cause) -> StepFields {
    StepFields { verb: text(verb), ..caused(cause) }
}

fn caused(cause: &Cause) -> StepFields {
    StepFields { cause: text(cause.as_str()), ..StepFields::default() }
}

fn text(value: &(impl ToString + ?Sized)) -> Option<String> {
    Some(value.to_string())
}
