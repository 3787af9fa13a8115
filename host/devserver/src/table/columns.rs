//! The columns of each resource.

use serde_json::{Value, json};

use super::age;
use crate::{
    object::Object,
    registry::{PrinterColumn, Resource},
};

/// One column: its heading, and how its cell is read from an object.
pub(super) struct Column {
    name: String,
    kind: &'static str,
    priority: i64,
    cell: Cell,
}

/// Computes a cell.
type Compute = fn(&Object) -> Value;

/// Where a cell comes from.
enum Cell {
    /// Computed by this server.
    Computed(Compute),
    /// Read at the path that a definition gives.
    Path(PrinterColumn),
}

/// The columns of a resource, in order.
pub(super) fn of(resource: &Resource) -> Vec<Column> {
    let mut columns = vec![Column::wide("Name", 0, |object| object.name().into())];
    let rest: &[(&str, i64, Compute)] = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => &[
            ("Ready", 0, pod_ready),
            ("Status", 0, pod_status),
            ("Restarts", 0, pod_restarts),
            ("Age", 0, created),
            ("IP", 1, |o| text(o, &["status", "podIP"])),
            ("Node", 1, |o| text(o, &["spec", "nodeName"])),
        ],
        ("apps", "deployments") => &[
            ("Ready", 0, |o| ready_of(o, "readyReplicas")),
            ("Up-to-date", 0, |o| number(o, &["status", "updatedReplicas"])),
            ("Available", 0, |o| number(o, &["status", "availableReplicas"])),
            ("Age", 0, created),
        ],
        ("apps", "replicasets") | ("", "replicationcontrollers") => &[
            ("Desired", 0, |o| number(o, &["spec", "replicas"])),
            ("Current", 0, |o| number(o, &["status", "replicas"])),
            ("Ready", 0, |o| number(o, &["status", "readyReplicas"])),
            ("Age", 0, created),
        ],
        ("apps", "statefulsets") => &[("Ready", 0, |o| ready_of(o, "readyReplicas")), ("Age", 0, created)],
        ("apps", "daemonsets") => &[
            ("Desired", 0, |o| number(o, &["status", "desiredNumberScheduled"])),
            ("Current", 0, |o| number(o, &["status", "currentNumberScheduled"])),
            ("Ready", 0, |o| number(o, &["status", "numberReady"])),
            ("Age", 0, created),
        ],
        ("", "services") => &[
            ("Type", 0, |o| text(o, &["spec", "type"])),
            ("Cluster-IP", 0, |o| text(o, &["spec", "clusterIP"])),
            ("Age", 0, created),
        ],
        ("", "configmaps") => &[("Data", 0, |o| entries(o, &["data", "binaryData"])), ("Age", 0, created)],
        ("", "secrets") => &[
            ("Type", 0, |o| text(o, &["type"])),
            ("Data", 0, |o| entries(o, &["data"])),
            ("Age", 0, created),
        ],
        ("", "namespaces") => &[("Status", 0, |o| text(o, &["status", "phase"])), ("Age", 0, created)],
        ("", "events") => &[
            ("Last Seen", 0, last_seen),
            ("Type", 0, |o| text(o, &["type"])),
            ("Reason", 0, |o| text(o, &["reason"])),
            ("Object", 0, involved_object),
            ("Message", 0, |o| text(o, &["message"])),
        ],
        ("batch", "jobs") => &[("Completions", 0, completions), ("Age", 0, created)],
        ("coordination.k8s.io", "leases") => {
            &[("Holder", 0, |o| text(o, &["spec", "holderIdentity"])), ("Age", 0, created)]
        }
        (crate::crd::GROUP, crate::crd::PLURAL) => {
            &[("Created At", 0, |o| text(o, &["metadata", "creationTimestamp"]))]
        }
        _ => &[("Age", 0, created)],
    };
    if resource.is("", "events") {
        columns.clear();
    }
    if resource.columns.is_empty() {
        columns.extend(rest.iter().map(|(name, priority, cell)| Column::wide(name, *priority, *cell)));
    } else {
        columns.extend(resource.columns.iter().cloned().map(Column::declared));
    }
    columns
}

// === impl Column ===

impl Column {
    fn wide(name: &str, priority: i64, cell: Compute) -> Self {
        Self { name: name.to_owned(), kind: "string", priority, cell: Cell::Computed(cell) }
    }

    fn declared(column: PrinterColumn) -> Self {
        Self { name: column.name.clone(), kind: "", priority: column.priority, cell: Cell::Path(column) }
    }

    pub(super) fn definition(&self) -> Value {
        let (kind, description) = match &self.cell {
            Cell::Computed(_) => (self.kind, ""),
            // The server sends dates as ages already.
            Cell::Path(column) if column.kind == "date" => ("string", column.description.as_str()),
            Cell::Path(column) => (column.kind.as_str(), column.description.as_str()),
        };
        json!({
            "name": self.name,
            "type": kind,
            "format": if self.name == "Name" { "name" } else { "" },
            "description": description,
            "priority": self.priority,
        })
    }

    pub(super) fn cell(&self, object: &Object) -> Value {
        match &self.cell {
            Cell::Computed(cell) => cell(object),
            Cell::Path(column) => {
                let value = declared_value(object, &column.path);
                match (column.kind.as_str(), value.as_str()) {
                    ("date", Some(time)) => age::since(time).into(),
                    _ => value,
                }
            }
        }
    }
}

/// The value at a JSONPath of field names and indexes: `.status.conditions[0].type`.
fn declared_value(object: &Object, path: &str) -> Value {
    let path = path.replace('[', ".").replace(']', "");
    let mut steps = path.split('.').filter(|step| !step.is_empty());
    let Some(first) = steps.next() else { return Value::Null };
    let start = match first {
        "metadata" => steps.next().and_then(|field| object.metadata.get(field)),
        field => object.fields.get(field),
    };
    let step = |value: &'_ Value, step: &str| -> Option<Value> {
        match step.parse::<usize>() {
            Ok(index) if value.is_array() => value.get(index).cloned(),
            _ => value.get(step).cloned(),
        }
    };
    let found = steps.try_fold(start.cloned(), |value, name| value.map(|value| step(&value, name)));
    found.flatten().unwrap_or_default()
}

fn text(object: &Object, path: &[&str]) -> Value {
    match object.at(path) {
        Some(Value::String(text)) if !text.is_empty() => text.as_str().into(),
        _ => "<none>".into(),
    }
}

fn number(object: &Object, path: &[&str]) -> Value {
    object.at(path).and_then(Value::as_i64).unwrap_or(0).into()
}

fn created(object: &Object) -> Value {
    age::since(object.at(&["metadata", "creationTimestamp"]).and_then(Value::as_str).unwrap_or_default())
        .into()
}

fn ready_of(object: &Object, ready: &str) -> Value {
    let of = |path: &[&str]| object.at(path).and_then(Value::as_i64).unwrap_or(0);
    format!("{}/{}", of(&["status", ready]), of(&["spec", "replicas"])).into()
}

fn completions(object: &Object) -> Value {
    let of = |path: &[&str]| object.at(path).and_then(Value::as_i64).unwrap_or(0);
    format!("{}/{}", of(&["status", "succeeded"]), of(&["spec", "completions"])).into()
}

fn entries(object: &Object, maps: &[&str]) -> Value {
    let count = |map: &&str| object.at(&[*map]).and_then(Value::as_object).map_or(0, serde_json::Map::len);
    maps.iter().map(count).sum::<usize>().into()
}

fn list<'a>(object: &'a Object, path: &[&str]) -> &'a [Value] {
    object.at(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn pod_ready(object: &Object) -> Value {
    let statuses = list(object, &["status", "containerStatuses"]);
    let ready = statuses.iter().filter(|status| status["ready"] == true).count();
    format!("{ready}/{}", list(object, &["spec", "containers"]).len()).into()
}

fn pod_status(object: &Object) -> Value {
    if object.is_deleting() {
        return "Terminating".into();
    }
    let statuses = list(object, &["status", "containerStatuses"]).iter();
    let waiting = statuses.filter_map(|status| status.pointer("/state/waiting/reason")).next();
    waiting.cloned().unwrap_or_else(|| text(object, &["status", "phase"]))
}

fn pod_restarts(object: &Object) -> Value {
    let statuses = list(object, &["status", "containerStatuses"]).iter();
    statuses.filter_map(|status| status.get("restartCount")?.as_i64()).sum::<i64>().into()
}

fn last_seen(object: &Object) -> Value {
    let times = [&["lastTimestamp"], &["eventTime"], &["firstTimestamp"]];
    match times.iter().find_map(|path| object.at(*path).and_then(Value::as_str)) {
        Some(time) => age::since(time).into(),
        None => created(object),
    }
}

fn involved_object(object: &Object) -> Value {
    let part =
        |field: &str| object.at(&["involvedObject", field]).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", part("kind").to_ascii_lowercase(), part("name")).into()
}
