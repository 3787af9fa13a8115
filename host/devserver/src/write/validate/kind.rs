//! The rules for kinds that plugins often write: ConfigMaps, Secrets, Events, PodDisruptionBudgets and bindings of roles.

use serde_json::Value;

use crate::{object::Object, registry::Resource, selector::is_label_key, status::Cause};

/// The most bytes of all values of a ConfigMap or a Secret.
const MAX_DATA_BYTES: usize = 1024 * 1024;
/// The most bytes of a word of an Event, such as its reason.
const MAX_WORD_BYTES: usize = 128;
/// The most bytes of the note of an Event.
const MAX_NOTE_BYTES: usize = 1024;

/// The group of roles and their bindings.
const RBAC: &str = "rbac.authorization.k8s.io";

/// The names of the fields of an Event, which depend on the group.
struct EventFields {
    about: &'static str,
    controller: &'static str,
    note: &'static str,
}

/// Adds a cause for each rule that a new object breaks.
pub(super) fn created(resource: &Resource, object: &Object, causes: &mut Vec<Cause>) {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps" | "secrets") => data(resource, object, causes),
        ("", "events") => {
            let fields =
                EventFields { about: "involvedObject", controller: "reportingComponent", note: "message" };
            event(object, &fields, causes);
        }
        ("events.k8s.io", "events") => {
            let fields = EventFields { about: "regarding", controller: "reportingController", note: "note" };
            event(object, &fields, causes);
            new_event(object, causes);
        }
        ("policy", "poddisruptionbudgets") => budget(object, causes),
        _ => {}
    }
}

/// Adds a cause for each rule that the next state of an object breaks.
pub(super) fn updated(resource: &Resource, old: &Object, new: &Object, causes: &mut Vec<Cause>) {
    let changed = |field: &str| value(old, field) != value(new, field);
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps" | "secrets") => {
            data(resource, new, causes);
            let is_immutable = old.at(&["immutable"]) == Some(&Value::Bool(true));
            for field in ["immutable", "data", "binaryData"] {
                if is_immutable && changed(field) {
                    causes.push(Cause::forbidden(field, "field is immutable when `immutable` is set"));
                }
            }
            if resource.plural == "secrets" && changed("type") {
                causes.push(Cause::invalid("type", new.text_at(&["type"]), "field is immutable"));
            }
        }
        ("policy", "poddisruptionbudgets") => budget(new, causes),
        (RBAC, "rolebindings" | "clusterrolebindings") if role(old) != role(new) => {
            causes.push(Cause::invalid("roleRef", value(new, "roleRef"), "cannot change roleRef"));
        }
        _ => {}
    }
}

/// The value of a field. A field that is `null` is absent.
fn value<'o>(object: &'o Object, field: &str) -> Option<&'o Value> {
    object.fields.get(field).filter(|value| !value.is_null())
}

/// The group, the kind and the name of the role that a binding names. kube-apiserver adds the group if it is absent.
fn role(binding: &Object) -> [&str; 3] {
    let group = binding.text_at(&["roleRef", "apiGroup"]);
    let group = if group.is_empty() { RBAC } else { group };
    [group, binding.text_at(&["roleRef", "kind"]), binding.text_at(&["roleRef", "name"])]
}

/// Checks the keys and the size of a ConfigMap or a Secret.
fn data(resource: &Resource, object: &Object, causes: &mut Vec<Cause>) {
    let mut bytes = 0;
    for field in ["data", "binaryData"] {
        let is_base64 = field == "binaryData" || resource.plural == "secrets";
        for (key, value) in object.fields.get(field).and_then(Value::as_object).into_iter().flatten() {
            if !is_config_key(key) {
                let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
                causes.push(Cause::invalid(format!("{field}[{key}]"), key, why));
            }
            let text = value.as_str().unwrap_or_default();
            bytes += if is_base64 { decoded_bytes(text) } else { text.len() };
        }
    }
    if bytes > MAX_DATA_BYTES {
        causes.push(Cause::too_long("data", MAX_DATA_BYTES));
    }
}

/// The number of bytes that a text in base64 encodes. Padding and line breaks encode no byte.
fn decoded_bytes(base64: &str) -> usize {
    base64.bytes().filter(|byte| !matches!(byte, b'=' | b'\r' | b'\n')).count() * 3 / 4
}

fn is_config_key(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 253
        && key != "."
        && !key.starts_with("..")
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn budget(object: &Object, causes: &mut Vec<Cause>) {
    let is_set = |field: &str| object.at(&["spec", field]).is_some_and(|value| !value.is_null());
    if is_set("minAvailable") && is_set("maxUnavailable") {
        let why = "minAvailable and maxUnavailable cannot be both set";
        causes.push(Cause::invalid("spec", object.fields.get("spec"), why));
    }
}

/// Checks the rules that both groups have for an Event. An Event with `eventTime` has the newer form, and must name its reporter.
fn event(object: &Object, fields: &EventFields, causes: &mut Vec<Cause>) {
    let EventFields { about, controller, note } = *fields;
    let has_time = !object.text_at(&["eventTime"]).is_empty();
    let (namespace, of) = (object.namespace(), object.text_at(&[about, "namespace"]));
    let is_there = match (has_time, of) {
        (false, "") => namespace == "default",
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (false, of) => namespace == of,
        (true, _) => true,
    };
    if !is_there {
        let why = "does not match event.namespace";
        causes.push(Cause::invalid(format!("{about}.namespace"), of, why));
    }
    if !has_time {
        return;
    }
    let reporter = object.text_at(&[controller]);
    if reporter.is_empty() {
        causes.push(Cause::required(controller, ""));
    } else if !is_label_key(reporter) {
        causes.push(Cause::invalid(controller, reporter, "must be [prefix/]name, as a label key"));
    }
    for field in ["reportingInstance", "action", "reason"] {
        let word = object.text_at(&[field]);
        if word.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if word.len() > MAX_WORD_BYTES {
            causes.push(Cause::invalid(field, "", &format!("can have at most {MAX_WORD_BYTES} bytes")));
        }
    }
    if object.text_at(&[note]).len() > MAX_NOTE_BYTES {
        causes.push(Cause::invalid(note, "", &format!("can have at most {MAX_NOTE_BYTES} bytes")));
    }
}

/// Checks the further rules of `events.k8s.io`.
fn new_event(object: &Object, causes: &mut Vec<Cause>) {
    if object.text_at(&["eventTime"]).is_empty() {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = object.text_at(&["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        causes.push(Cause::invalid("type", "", &format!("has invalid value: {kind}")));
    }
    let is_set = |field: &str| match object.fields.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::Object(source)) => source.values().filter_map(Value::as_str).any(|text| !text.is_empty()),
        Some(value) => value.as_i64() != Some(0),
    };
    for field in
        ["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount", "deprecatedSource"]
    {
        if is_set(field) {
            causes.push(Cause::invalid(field, "", "needs to be unset"));
        }
    }
}
