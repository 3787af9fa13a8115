//! One step, in words and as values.

use informer_types::{Cause, Enqueued, Failure, KeyThen, Step, Then, counted};
use jiff::Timestamp;

use crate::{admin::types, app::trace::Recorded};

pub(super) fn step(recorded: &Recorded) -> types::Step {
    let Recorded { at, traced } = recorded;
    let (verdict, detail) = decision(&traced.step);
    types::Step {
        at: Timestamp::try_from(*at).ok().map(|at| at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()),
        stage: traced.step.stage().to_owned(),
        plugin: traced.plugin.as_deref().map(str::to_owned),
        verdict: verdict.to_owned(),
        detail,
        values: Some(traced.step.clone()),
    }
}

/// The decision in a word, and in a sentence.
fn decision(step: &Step) -> (&'static str, String) {
    match step {
        Step::Seen { event, version } => (event.as_str(), format!("version {version}")),
        Step::Undecodable { version } => {
            ("undecodable", format!("version {version}: the state in the cache stays"))
        }
        Step::Stored { cause, old: None, new } => {
            ("stored", format!("version {new} ({cause}), as a new object"))
        }
        Step::Stored { cause, old: Some(old), new } => {
            ("replaced", format!("version {old} by {new} ({cause})"))
        }
        Step::Unchanged { version } => ("unchanged", format!("version {version} is in the cache already")),
        Step::Removed { cause, last: None } => {
            ("absent", format!("({cause}): it was not in the cache; its deletion is delivered all the same"))
        }
        Step::Removed { cause, last: Some(last) } => ("removed", format!("version {last} ({cause})")),
        Step::Distributed { verb, cause, listeners } => {
            ("notified", format!("{verb} ({cause}) to {}", counted(*listeners as u64, "listener")))
        }
        Step::Notified { verb, cause } => ("notified", format!("{verb} ({cause}) to this listener alone")),
        Step::Withheld { verb, version, known } => {
            let known = format!("the plugin has received {known} from the watch before this one");
            ("withheld", format!("{verb} of version {version}: {known}"))
        }
        Step::Passed { offered, verb, cause } => ("passed", passed(offered, verb, *cause)),
        Step::Suppressed { verb, cause, by } => ("suppressed", format!("{verb} ({cause}) by `{by}`")),
        Step::Undecided { why } => ("undecided", format!("{why}; it counts as satisfied")),
        Step::Queued { verb, cause } => ("queued", format!("{verb} ({cause})")),
        Step::Merged { verb, cause, into } => ("merged", format!("{verb} ({cause}) into the pending {into}")),
        Step::Cancelled { verb } => {
            let why = "it cancels the pending notification; the plugin never saw the object";
            ("cancelled", format!("{verb}: {why}"))
        }
        Step::Discarded { verb } => ("discarded", format!("{verb}: the queue is closed")),
        Step::Called { verb, cause, attempt, queued, took, failure, then } => {
            let call = format!("{verb} ({cause}), call {attempt} after {queued:.1?}, took {took:.1?}");
            let (verdict, then) = afterwards(then);
            (verdict, format!("{call}{}{then}", because(failure)))
        }
        key => decision_about_key(key),
    }
}

fn passed(offered: &str, verb: &str, cause: Cause) -> String {
    match (offered, verb) {
        ("update", "add") => format!("update, delivered as add ({cause}): it came to match"),
        (_, "delete") if offered != "delete" => {
            format!("{offered}, delivered as delete ({cause}): it matches no longer")
        }
        _ => format!("{verb} ({cause})"),
    }
}

fn decision_about_key(step: &Step) -> (&'static str, String) {
    match step {
        Step::KeyAdded { led_to } => match led_to {
            Enqueued::Waits => ("added", "the key waits for a worker".to_owned()),
            Enqueued::WaitsAlready => ("merged", "the key waits already".to_owned()),
            Enqueued::WaitsAfterCall => {
                ("added", "the key is in flight, and waits again afterwards".to_owned())
            }
            Enqueued::Delayed { by } => ("delayed", format!("the key is due in {by:.1?}")),
            Enqueued::DueAlready => {
                ("merged", "the key is due at the same time or earlier already".to_owned())
            }
        },
        Step::KeyRefused { capacity } => {
            let limit = "its `capacity` under [plugin.workqueue]";
            ("refused", format!("the workqueue holds {capacity} keys, {limit}"))
        }
        Step::KeyTaken { attempt, waited } => {
            ("taken", format!("the key, for call {attempt}, after {waited:.1?}"))
        }
        Step::KeyDone { attempt, took, failure, then } => {
            let (verdict, then) = match then {
                KeyThen::Done => ("done", String::new()),
                KeyThen::Again { after } => {
                    (if failure.is_some() { "failed" } else { "again" }, format!("; again in {after:.1?}"))
                }
                KeyThen::GivenUp => {
                    ("given-up", "; the key is a dead letter until it is reconciled".to_owned())
                }
                KeyThen::GivenBack => ("cut-short", "; the key waits as before".to_owned()),
                KeyThen::Spared => ("spared", "; the plugin is in quarantine, and the key waits".to_owned()),
                KeyThen::Discarded => ("discarded", "; the workqueue is closed".to_owned()),
            };
            (verdict, format!("call {attempt} took {took:.1?}{}{then}", because(failure)))
        }
        // `KeyDiscarded`: every other step is listed here or in `decision`.
        _ => ("discarded", "the workqueue is closed".to_owned()),
    }
}

fn because(failure: &Option<Box<Failure>>) -> String {
    failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default()
}

fn afterwards(then: &Then) -> (&'static str, String) {
    match then {
        Then::Acknowledged => ("delivered", String::new()),
        Then::Recovered => ("delivered", "; the quarantine is over".to_owned()),
        Then::Retry { after, superseded } => {
            let state = if *superseded { ", in its newer state" } else { "" };
            ("failed", format!("; again in {after:.1?}{state}"))
        }
        Then::Quarantined { probe_in } => {
            let why = "the failure does not count: the plugin is in quarantine";
            ("failed", format!("; {why}, with the next probe in {probe_in:.1?}"))
        }
        Then::DeadLetter => ("dead-letter", String::new()),
        Then::Dropped => ("given-up", String::new()),
        Then::GivenBack => ("cut-short", "; it is pending again".to_owned()),
        Then::Discarded => ("discarded", "; the queue is closed".to_owned()),
    }
}
