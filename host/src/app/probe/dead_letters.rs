//! What plugins gave up.

use std::sync::Arc;

use informer_dispatch::{DeadLetter, ObjectRef, workqueue::DroppedKey};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::RunningPlugin;
use crate::commands::dead_letters::Chosen;

/// What is called with a key.
const RECONCILE: &str = "reconcile";

/// Why letters are in memory only, a sentence for each plugin.
pub(super) fn problems(units: &[Arc<RunningPlugin>]) -> Vec<String> {
    let why = |unit: &Arc<RunningPlugin>| {
        let why = unit.letters_problem()?;
        Some(format!("plugin {}: its dead letters are in memory only: {why}", unit.name()))
    };
    units.iter().filter_map(why).collect()
}

pub(in crate::app) fn dead_letter(letter: &DeadLetter) -> Value {
    json!({
        "object": letter.object.to_string(), "verb": letter.verb, "cause": letter.cause.as_str(),
        "uid": letter.uid, "resource-version": letter.resource_version,
        "attempts": letter.attempts, "failure": letter.failure.to_string(),
        "at": Timestamp::try_from(letter.at).ok().map(|at| at.to_string()),
    })
}

/// A key that was given up, as a letter.
pub(in crate::app) fn dropped_key(dropped: &DroppedKey) -> Value {
    json!({
        "object": named(&dropped.key), "verb": RECONCILE,
        "attempts": dropped.attempts, "failure": dropped.failure.to_string(),
        "at": Timestamp::try_from(dropped.at).ok().map(|at| at.to_string()),
    })
}

/// A key is what the plugin says it is: it may be no object's.
fn named(key: &str) -> String {
    format!("key {key}")
}

/// The oldest first, whosesoever it is.
pub(super) fn list(units: &[Arc<RunningPlugin>], chosen: &Chosen) -> Value {
    let letters = units.iter().flat_map(|unit| {
        let events = unit.dead_letters(chosen).into_iter().map(|letter| (letter.at, dead_letter(&letter)));
        let keys = unit.dropped_keys(chosen).into_iter().map(|dropped| (dropped.at, dropped_key(&dropped)));
        events.chain(keys).map(|(at, letter)| (at, of(unit, letter))).collect::<Vec<_>>()
    });
    let mut letters: Vec<_> = letters.collect();
    letters.sort_by_key(|(at, _)| *at);
    let letters: Vec<Value> = letters.into_iter().map(|(_, letter)| letter).collect();
    json!({ "dead-letters": letters, "problems": problems(units) })
}

pub(super) fn replay(units: &[Arc<RunningPlugin>], chosen: &Chosen) -> Value {
    let (mut replayed, mut refused) = (Vec::new(), Vec::new());
    for unit in units {
        for letter in unit.dead_letters(chosen) {
            let object = letter.object.to_string();
            match unit.replay(&letter) {
                Ok(verb) => replayed.push(of(unit, json!({ "object": object, "as": verb }))),
                Err(why) => refused.push(of(unit, json!({ "object": object, "why": why.to_string() }))),
            }
        }
        for dropped in unit.dropped_keys(chosen) {
            let object = named(&dropped.key);
            match unit.replay_key(&dropped) {
                Ok(()) => replayed.push(of(unit, json!({ "object": object, "as": RECONCILE }))),
                Err(why) => refused.push(of(unit, json!({ "object": object, "why": why.to_string() }))),
            }
        }
    }
    tracing::info!(replayed = replayed.len(), refused = refused.len(), "dead letters are told again");
    json!({ "replayed": replayed, "refused": refused })
}

pub(super) fn drop_chosen(units: &[Arc<RunningPlugin>], chosen: &Chosen) -> Value {
    let dropped = units.iter().flat_map(|unit| {
        let objects = unit.drop_dead_letters(chosen).into_iter().map(|object: ObjectRef| object.to_string());
        let keys = unit.forget_dropped_keys(chosen).into_iter().map(|key| named(&key));
        objects.chain(keys).map(|object| of(unit, json!({ "object": object }))).collect::<Vec<_>>()
    });
    let dropped: Vec<Value> = dropped.collect();
    tracing::info!(dropped = dropped.len(), "dead letters are dropped as asked for");
    json!({ "dropped": dropped })
}

/// With the name of its plugin.
fn of(unit: &RunningPlugin, mut value: Value) -> Value {
    if let Value::Object(value) = &mut value {
        value.insert("plugin".to_owned(), unit.name().into());
    }
    value
}
