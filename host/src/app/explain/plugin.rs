//! Where an object stands with one plugin.

use informer_dispatch::{ObjectRef, Standing, Stands};
use informer_types::Source;
use serde_json::{Value, json};

use crate::{
    app::{
        status::{dead_letter, millis, queue::because},
        unit::Unit,
    },
    dead_letters::Chosen,
    explain::Asked,
};

/// Where it stands, and whether there is anything of it. None where the plugin has nothing to do with the resource, unless
/// it was asked for by name.
pub(super) fn plugin(unit: &Unit, asked: &Asked, cached: bool, by_name: bool) -> Option<(Value, bool)> {
    let Asked { gvr, key, .. } = asked;
    let object = ObjectRef { source: Source::new(gvr.clone()), key: key.clone() };
    let hears = unit.hears(gvr, key);
    let standing = unit.queue().standing(&object);
    let chosen = Chosen { gvr: Some(gvr.to_string()), key: Some(key.to_string()), ..Chosen::default() };
    let letter = unit.dead_letters(&chosen).pop();
    if hears.is_none() && standing.is_none() && letter.is_none() && !by_name {
        return None;
    }
    let excluded_by = hears.flatten();
    let stats = unit.queue().stats();
    let quarantine = stats.quarantine.as_ref().map(because);
    let mut words = vec![match (hears, excluded_by) {
        (None, _) => "does not subscribe to the resource".to_owned(),
        (Some(_), Some(condition)) => format!("not selected: its `{condition}` excludes the object as it is"),
        (Some(_), None) if cached => "selected".to_owned(),
        (Some(_), None) => "subscribed".to_owned(),
    }];
    words.push(standing.as_ref().map_or_else(|| "nothing waits for it".to_owned(), waits));
    if let Some(letter) = &letter {
        words.push(format!(
            "dead letter of {} ({} calls): {}",
            letter.verb,
            letter.attempts,
            first_line(&letter.failure.to_string())
        ));
    }
    words.extend(quarantine.clone());
    if stats.paused {
        words.push("no calls are made yet: the plugin or a cache it reads is not ready".to_owned());
    }
    let known = standing.is_some() || letter.is_some();
    let value = json!({
        "plugin": unit.name(),
        "subscribed": hears.is_some(),
        "excluded-by": excluded_by,
        "queue": standing.as_ref().map(queue),
        "dead-letter": letter.as_ref().map(dead_letter),
        "quarantine": quarantine,
        "paused": stats.paused,
        "stands": words.join("; "),
    });
    Some((value, known))
}

fn queue(standing: &Standing) -> Value {
    let (place, retry_in, in_hand) = match standing.stands {
        Stands::Ready => ("ready", None, None),
        Stands::Waiting { retry_in } => ("waiting", Some(millis(retry_in)), None),
        Stands::InHand { lasting } => ("in-hand", None, Some(millis(lasting))),
    };
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

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
