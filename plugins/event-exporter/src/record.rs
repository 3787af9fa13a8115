//! An Event as the rules, the templates and the receivers see it: the JSON of `v1`, whatever version the watch has.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// An Event, in the form that receivers get.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    document: Value,
}

/// When an Event happened last, and how often it has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub(crate) count: u64,
    /// The time of the last occurrence. For an Event without a readable time, it is a time that the caller chooses.
    pub(crate) at: Timestamp,
}

/// The object that an Event is about, as the Event names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Involved {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

/// Fields of `events.k8s.io/v1`, and the same fields of `v1`.
const RENAMED: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

// === impl Record ===

impl Record {
    /// Reads an Event of either version.
    pub(crate) fn new(object: Value) -> Self {
        let mut fields = match object {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        for (from, to) in RENAMED {
            if let Some(value) = fields.remove(from) {
                fields.insert(to.to_owned(), value);
            }
        }
        // The original prints neither of them.
        fields.remove("apiVersion");
        fields.remove("kind");
        let mut record = Self { document: Value::Object(fields) };
        record.put("/source", "component", "/reportingComponent");
        let count = record.occurrence(Timestamp::UNIX_EPOCH).count;
        record.set("count", json!(count));
        record
    }

    /// Reads a document that this type wrote.
    pub(crate) fn from_document(document: Value) -> Self {
        Self { document }
    }

    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.document.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// The last occurrence. If the Event has no readable time, the occurrence has the time `otherwise`.
    pub(crate) fn occurrence(&self, otherwise: Timestamp) -> Occurrence {
        const TIMES: [&str; 5] = [
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/eventTime",
            "/firstTimestamp",
            "/metadata/creationTimestamp",
        ];
        let at = TIMES.iter().filter_map(|pointer| self.text(pointer).parse::<Timestamp>().ok()).max();
        let number = |pointer| self.document.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
        Occurrence {
            count: number("/count").max(number("/series/count")).max(1),
            at: at.unwrap_or(otherwise),
        }
    }

    pub(crate) fn involved(&self) -> Involved {
        let text = |field: &str| self.text(&format!("/involvedObject/{field}")).to_owned();
        Involved {
            api_version: text("apiVersion"),
            kind: text("kind"),
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
        }
    }

    /// A label or annotation of the object that the Event is about.
    pub(crate) fn of_involved(&self, map: &str, key: &str) -> Option<&str> {
        self.document.get("involvedObject")?.get(map)?.get(key)?.as_str()
    }

    pub(crate) fn set(&mut self, field: &str, value: Value) {
        if let Some(fields) = self.document.as_object_mut() {
            fields.insert(field.to_owned(), value);
        }
    }

    /// Adds a field about the object that the Event is about.
    pub(crate) fn set_involved(&mut self, field: &str, value: Value) {
        if let Some(Value::Object(fields)) = self.document.get_mut("involvedObject") {
            fields.insert(field.to_owned(), value);
        }
    }

    /// The same Event without dots in the keys of labels and annotations, for stores that read a dot as a path.
    pub(crate) fn without_dots(&self) -> Value {
        let mut document = self.document.clone();
        for parent in ["/metadata", "/involvedObject"] {
            for map in ["labels", "annotations"] {
                let at = document.pointer_mut(&format!("{parent}/{map}")).and_then(Value::as_object_mut);
                if let Some(fields) = at {
                    let renamed = std::mem::take(fields).into_iter();
                    *fields = renamed.map(|(key, value)| (key.replace('.', "_"), value)).collect();
                }
            }
        }
        document
    }

    /// Fills a field of `source` that is empty: components that write `events.k8s.io/v1` leave it empty.
    fn put(&mut self, parent: &str, field: &str, from: &str) {
        let value = self.text(from).to_owned();
        if value.is_empty() || !self.text(&format!("{parent}/{field}")).is_empty() {
            return;
        }
        if self.document.pointer(parent).is_none_or(|parent| !parent.is_object()) {
            self.set(parent.trim_start_matches('/'), json!({}));
        }
        if let Some(Value::Object(fields)) = self.document.pointer_mut(parent) {
            fields.insert(field.to_owned(), Value::from(value));
        }
    }
}

// === impl Occurrence ===

impl Occurrence {
    /// Returns true if this is later than `other`. Counts and times only rise.
    pub(crate) fn is_after(&self, other: &Self) -> bool {
        self.count > other.count || self.at > other.at
    }
}

/// The names that templates look up beside the fields: the methods of the original, and what Go promotes from `metadata`.
pub(crate) fn method(value: &Value, name: &str) -> Option<Value> {
    let metadata = value.get("metadata").filter(|_| value.get("involvedObject").is_some());
    let Some(metadata) = metadata else {
        return (name == "ObjectReference").then(|| value.clone());
    };
    let time = || {
        let text = |field| value.get(field).and_then(Value::as_str);
        let parsed = |field| text(field).and_then(|text: &str| text.parse::<Timestamp>().ok());
        parsed("firstTimestamp").or_else(|| parsed("eventTime"))
    };
    match name {
        "GetTimestampMs" => Some(Value::from(time().map_or(0, Timestamp::as_millisecond))),
        "GetTimestampISO8601" => {
            let at = time().unwrap_or(Timestamp::UNIX_EPOCH);
            Some(Value::from(crate::go_time::format("2006-01-02T15:04:05.000Z07:00", at)))
        }
        "ToJSON" => Some(Value::from(value.to_string())),
        "ObjectMeta" => Some(metadata.clone()),
        "Event" => Some(value.clone()),
        // The JSON name of this field differs from the name in Go.
        "ReportingController" => value.get("reportingComponent").cloned(),
        _ => {
            let lower = match name {
                "UID" => "uid".to_owned(),
                _ => name.chars().take(1).flat_map(char::to_lowercase).chain(name.chars().skip(1)).collect(),
            };
            metadata.get(&lower).cloned()
        }
    }
}

#[cfg(test)]
mod tests;
