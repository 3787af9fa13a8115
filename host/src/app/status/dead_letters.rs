//! What plugins gave up.

use std::sync::Arc;

use informer_dispatch::{DeadLetter, ObjectRef};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Unit;
use crate::dead_letters::Chosen;

/// Why letters are in memory only, a sentence for each plugin.
pub(super) fn problems(units: &[Arc<Unit>]) -> Vec<String> {
    let why = |unit: &Arc<Unit>| {
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

pub(super) fn list(units: &[Arc<Unit>], chosen: &Chosen) -> Value {
    let letters = units.iter().flat_map(|unit| {
        unit.dead_letters(chosen).into_iter().map(move |letter| of(unit, dead_letter(&letter)))
    });
    json!({ "dead-letters": letters.collect::<Vec<_>>(), "problems": problems(units) })
}

pub(super) fn replay(units: &[Arc<Unit>], chosen: &Chosen) -> Value {
    let (mut replayed, mut refused) = (Vec::new(), Vec::new());
    for unit in units {
        for letter in unit.dead_letters(chosen) {
            let object = letter.object.to_string();
            match unit.replay(&letter) {
                Ok(verb) => replayed.push(of(unit, json!({ "object": object, "as": verb }))),
                Err(why) => refused.push(of(unit, json!({ "object": object, "why": why.to_string() }))),
            }
        }
    }
    tracing::info!(replayed = replayed.len(), refused = refused.len(), "dead letters are told again");
    json!({ "replayed": replayed, "refused": refused })
}

pub(super) fn drop_chosen(units: &[Arc<Unit>], chosen: &Chosen) -> Value {
    let dropped = units.iter().flat_map(|unit| {
        let named = |object: ObjectRef| of(unit, json!({ "object": object.to_string() }));
        unit.drop_dead_letters(chosen).into_iter().map(named)
    });
    let dropped: Vec<Value> = dropped.collect();
    tracing::info!(dropped = dropped.len(), "dead letters are dropped as asked for");
    json!({ "dropped": dropped })
}

/// With the name of its plugin.
fn of(unit: &Unit, mut value: Value) -> Value {
    if let Value::Object(value) = &mut value {
        value.insert("plugin".to_owned(), unit.name().into());
    }
    value
}
