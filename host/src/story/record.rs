//! From a recording of a running host to a story.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::seen::in_brackets;
use crate::admin::types::{RecordedCall, RecordedObject, Recording};

/// Fields of `metadata` that a server writes, which a story leaves to the server of the story. That server also collects garbage: an
/// object whose owner does not exist would go at once.
const OF_THE_SERVER: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The fields of an Event of `events.k8s.io`, and their names in the core group.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
];

/// The text of a story.
#[derive(Default, Serialize)]
struct StoryText {
    config: String,
    plugin: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects: Vec<Value>,
    steps: Vec<StepText>,
}

/// A step with one action.
#[derive(Default, Serialize)]
struct StepText {
    #[serde(skip_serializing_if = "Option::is_none")]
    add: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    expect: ExpectText,
}

#[derive(Default, Serialize)]
struct ExpectText {
    calls: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<String>,
}

/// The story so far.
#[derive(Default)]
struct Writing {
    /// The objects that exist, by resource and key.
    exist: BTreeMap<(String, String), Value>,
    /// The objects that existed before the first step.
    objects: Vec<Value>,
    steps: Vec<StepText>,
    /// Calls that a story cannot repeat.
    left_out: usize,
}

/// The text of a story that plays a recording, and the number of calls that it leaves out.
///
/// # Errors
/// The objects cannot be written as YAML.
pub fn recorded(recording: &Recording, config: &str, plugin: &str) -> anyhow::Result<(String, usize)> {
    let mut writing = Writing::default();
    for call in &recording.calls {
        writing.add(call);
    }
    let Writing { objects, steps, left_out, .. } = writing;
    let text = StoryText { config: config.to_owned(), plugin: plugin.to_owned(), objects, steps };
    let head =
        "# Recorded by `informer test --record`. Objects have neither owners nor what a server writes.\n";
    Ok((format!("{head}{}", serde_saphyr::to_string(&text)?), left_out))
}

// === impl Writing ===

impl Writing {
    /// Adds the step that leads to a call. A call that follows from what the plugin wrote belongs to the step before.
    fn add(&mut self, call: &RecordedCall) {
        let gone = call.call == "on-delete";
        let (mut follows, mut steps) = (false, Vec::new());
        for object in &call.objects {
            let step = self.step(object, gone);
            follows |= step.is_some() && object.own && !self.steps.is_empty();
            steps.extend(step.filter(|_| !object.own));
        }
        let cause = match call.call.as_str() {
            "reconcile" | "on-delete" => None,
            _ => Some("live".to_owned()),
        };
        let notes: Vec<String> = cause.into_iter().chain(call.next.clone()).collect();
        let resource = call.objects.first().filter(|_| call.call != "reconcile");
        let resource = resource.map(|object| format!("{} ", object.resource)).unwrap_or_default();
        let text = format!("{} {resource}{}{}", call.call, call.key, in_brackets(&notes));
        if steps.is_empty() && !follows {
            self.left_out += 1;
            return;
        }
        self.steps.extend(steps);
        let Some(step) = self.steps.last_mut() else { return };
        // The end of a message may have addresses and times.
        let first_line = call.failure.as_deref().map(|failure| failure.lines().next().unwrap_or_default());
        step.expect.failures.extend(first_line.map(|failure| format!("{text}: {failure}*")));
        step.expect.calls.push(text);
    }

    /// The step from the state that the story has of an object to the recorded one. Returns `None` if there is no difference.
    fn step(&mut self, object: &RecordedObject, gone: bool) -> Option<StepText> {
        let RecordedObject { resource, key, old, new, .. } = object;
        let place = (resource.clone(), key.clone());
        let (old, new) = (old.as_deref().and_then(manifest), new.as_deref().and_then(manifest));
        if let Some(before) = old.as_ref().or(new.as_ref().filter(|_| gone))
            && !self.exist.contains_key(&place)
        {
            self.objects.push(before.clone());
            self.exist.insert(place.clone(), before.clone());
        }
        let before = self.exist.get(&place);
        let step = match (before, &new) {
            (Some(_), None) => StepText { delete: Some(format!("{resource} {key}")), ..StepText::default() },
            (Some(_), Some(_)) if gone => {
                StepText { delete: Some(format!("{resource} {key}")), ..StepText::default() }
            }
            (None, None) => return None,
            (None, Some(new)) => StepText { add: Some(new.clone()), ..StepText::default() },
            (Some(before), Some(new)) => {
                let patch = patch(before, new)?;
                StepText { update: Some(named(patch, new)), ..StepText::default() }
            }
        };
        match new.filter(|_| !gone) {
            Some(new) => self.exist.insert(place, new),
            None => self.exist.remove(&place),
        };
        Some(step)
    }
}

/// An object without what a server writes.
fn manifest(text: &str) -> Option<Value> {
    let mut object: Value = serde_json::from_str(text).ok()?;
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !OF_THE_SERVER.contains(&field.as_str()));
    }
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        ("v1", "Secret") => valid_data(&mut object, &["data"]),
        ("v1", "ConfigMap") => valid_data(&mut object, &["binaryData"]),
        ("events.k8s.io/v1", "Event") if text("eventTime").is_empty() => in_core_group(&mut object),
        _ => {}
    }
    Some(object)
}

/// Replaces the masks and digests of the host in a Secret or a ConfigMap by keys and values that an API server accepts. `encoded` names the
/// fields whose values are base64.
fn valid_data(object: &mut Value, encoded: &[&str]) {
    for field in ["data", "binaryData"] {
        let Some(Value::Object(values)) = object.get_mut(field) else { continue };
        let is_encoded = encoded.contains(&field);
        let valid = std::mem::take(values).into_iter().map(|(key, value)| {
            let value = match value {
                Value::String(text) if is_encoded && BASE64_STANDARD.decode(&text).is_err() => {
                    BASE64_STANDARD.encode(text).into()
                }
                value => value,
            };
            (key.replace(':', "."), value)
        });
        *values = valid.collect();
    }
}

/// Changes an older Event to an Event of the core group. An API server accepts a new Event without `eventTime` only in the core group.
fn in_core_group(event: &mut Value) {
    let Some(fields) = event.as_object_mut() else { return };
    fields.insert("apiVersion".to_owned(), "v1".into());
    for (field, core) in EVENT_FIELDS {
        let value = fields.remove(field);
        fields.extend(value.map(|value| (core.to_owned(), value)));
    }
}

/// The merge patch from one value to another. Returns `None` if they are equal.
fn patch(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let removed = before.keys().filter(|field| !after.contains_key(*field));
    let mut fields: Map<String, Value> = removed.map(|field| (field.clone(), Value::Null)).collect();
    for (field, value) in after {
        let changed = match before.get(field) {
            Some(before) => patch(before, value),
            None => Some(value.clone()),
        };
        fields.extend(changed.map(|changed| (field.clone(), changed)));
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// The patch with the fields that identify its object.
fn named(mut patch: Value, object: &Value) -> Value {
    if let Some(fields) = patch.as_object_mut() {
        for field in ["apiVersion", "kind"] {
            fields.insert(field.to_owned(), object.get(field).cloned().unwrap_or_default());
        }
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        for field in ["name", "namespace"] {
            let value = object.pointer(&format!("/metadata/{field}"));
            if let (Some(metadata), Some(value)) = (metadata.as_object_mut(), value) {
                metadata.insert(field.to_owned(), value.clone());
            }
        }
    }
    patch
}

#[cfg(test)]
mod tests;
