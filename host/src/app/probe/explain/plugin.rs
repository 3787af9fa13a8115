//! Where an object stands with one plugin.

use informer_dispatch::{
    DeadLetter, ObjectRef, Standing, Stands,
    workqueue::{DroppedKey, KeyStanding},
};
use informer_types::{Failure, Source};
use serde_json::{Value, json};

use crate::{
    app::{
        probe::{dead_letter, dropped_key, millis, queue::because, workqueue::quarantined},
        running_plugin::RunningPlugin,
    },
    commands::dead_letters::Chosen,
    commands::explain::Asked,
};

/// What is known of the key of the plugin's own that is taken for that of the object.
#[derive(Default)]
struct OwnKey {
    standing: Option<KeyStanding>,
    letter: Option<DroppedKey>,
    /// Of the reconciler.
    quarantine: Option<String>,
}

/// Where it stands, and whether there is anything of it. None where the plugin has nothing to do with the resource, unless
/// it was asked for by name.
pub(super) fn plugin(
    unit: &RunningPlugin,
    asked: &Asked,
    cached: bool,
    by_name: bool,
) -> Option<(Value, bool)> {
    let Asked { gvr, key, .. } = asked;
    let object = ObjectRef { source: Source::new(gvr.clone()), key: key.clone() };
    let hears = unit.hears(gvr, key);
    let standing = unit.queue().standing(&object);
    let chosen = Chosen { gvr: Some(gvr.to_string()), key: Some(key.to_string()), ..Chosen::default() };
    let letter = unit.dead_letters(&chosen).pop();
    let own = if unit.claims(gvr) { OwnKey::of(unit, &key.to_string()) } else { OwnKey::default() };
    let known = standing.is_some() || letter.is_some() || own.is_known();
    if hears.is_none() && !known && !by_name {
        return None;
    }
    let excluded_by = hears.flatten();
    let stats = unit.queue().stats();
    let quarantine = stats.quarantine.as_ref().map(because);
    let mut words = vec![selected(hears, cached)];
    words.extend(standing.as_ref().map(waits));
    words.extend(own.standing.as_ref().map(key_waits));
    if standing.is_none() && own.standing.is_none() {
        words.push("nothing waits for it".to_owned());
    }
    words.extend(letter.as_ref().map(|DeadLetter { verb, attempts, failure, .. }| {
        format!("dead letter of {verb} ({attempts} calls): {}", first_line(failure))
    }));
    words.extend(own.letter.as_ref().map(|DroppedKey { attempts, failure, .. }| {
        format!("its key is a dead letter ({attempts} calls): {}", first_line(failure))
    }));
    words.extend(quarantine.clone());
    words.extend(own.quarantine.as_ref().map(|text| format!("its reconciler is {text}")));
    if stats.paused {
        words.push("no calls are made yet: the plugin or a cache it reads is not ready".to_owned());
    }
    let value = json!({
        "plugin": unit.name(),
        "subscribed": hears.is_some(),
        "excluded-by": excluded_by,
        "queue": standing.as_ref().map(queue),
        "dead-letter": letter.as_ref().map(dead_letter),
        "quarantine": quarantine,
        "own-key": {
            "workqueue": own.standing.as_ref().map(workqueue),
            "dead-letter": own.letter.as_ref().map(dropped_key),
            "quarantine": own.quarantine,
        },
        "paused": stats.paused,
        "stands": words.join("; "),
    });
    Some((value, known))
}

fn selected(hears: Option<Option<&str>>, cached: bool) -> String {
    match hears {
        None => "does not subscribe to the resource".to_owned(),
        Some(Some(condition)) => format!("not selected: its `{condition}` excludes the object as it is"),
        Some(None) if cached => "selected".to_owned(),
        Some(None) => "subscribed".to_owned(),
    }
}

// === impl OwnKey ===

impl OwnKey {
    fn of(unit: &RunningPlugin, key: &str) -> Self {
        let chosen = Chosen { key: Some(key.to_owned()), ..Chosen::default() };
        Self {
            standing: unit.workqueue().standing(key),
            letter: unit.dropped_keys(&chosen).pop(),
            quarantine: quarantined(unit).as_ref().map(because),
        }
    }

    fn is_known(&self) -> bool {
        self.standing.is_some() || self.letter.is_some()
    }
}

fn place(stands: Stands) -> (&'static str, Option<u64>, Option<u64>) {
    match stands {
        Stands::Ready => ("ready", None, None),
        Stands::Waiting { retry_in } => ("waiting", Some(millis(retry_in)), None),
        Stands::InHand { lasting } => ("in-hand", None, Some(millis(lasting))),
    }
}

fn workqueue(standing: &KeyStanding) -> Value {
    let (place, retry_in, in_hand) = place(standing.stands);
    json!({
        "place": place, "again": standing.again, "failed": standing.failed,
        "retry-in-ms": retry_in, "in-hand-ms": in_hand,
    })
}

fn key_waits(standing: &KeyStanding) -> String {
    let KeyStanding { stands, again, failed } = standing;
    let failed = match failed {
        0 => String::new(),
        failed => format!(", after {failed} failed calls"),
    };
    match stands {
        Stands::Ready => format!("its key waits for a worker{failed}"),
        Stands::Waiting { retry_in } => format!("its key is due in {retry_in:.1?}{failed}"),
        Stands::InHand { lasting } => {
            let again = if *again { ", and comes again afterwards" } else { "" };
            format!("its key is in hand, for {lasting:.1?}{failed}{again}")
        }
    }
}

fn queue(standing: &Standing) -> Value {
    let (place, retry_in, in_hand) = place(standing.stands);
    json!({
        "place": place, "pending": standing.pending, "attempts": standing.attempts,
        "since-ms": millis(standing.since), "retry-in-ms": retry_in, "in-hand-ms": in_hand,
    })
}

fn waits(standing: &Standing) -> String {
    let Standing { stands, pending, attempts, since } = standing;
    let pending = pending.join(", ");
    match stands {
        Stands::Ready => format!("{pending} waits for a worker, since {since:.1?}"),
        Stands::Waiting { retry_in } => {
            format!(
                "{pending} failed {attempts} times and is tried again in {retry_in:.1?}, {since:.1?} after it came"
            )
        }
        Stands::InHand { lasting } if pending.is_empty() => {
            format!("a worker has it in hand, for {lasting:.1?}")
        }
        Stands::InHand { lasting } => {
            format!("a worker has it in hand, for {lasting:.1?}, and {pending} waits behind")
        }
    }
}

fn first_line(failure: &Failure) -> String {
    failure.to_string().lines().next().unwrap_or_default().to_owned()
}
