//! Tables, which `kubectl get` prints.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    crd,
    object::Object,
    registry::{PrinterColumn, Resource},
    storage::Stored,
};

const NAME: Row = ("Name", 0, |object| object.name().into());
const AGE: Row = ("Age", 0, created);

const POD: &[Row] = &[
    ("Ready", 0, pod_ready),
    ("Status", 0, pod_status),
    ("Restarts", 0, pod_restarts),
    AGE,
    ("IP", 1, |o| text(o, &["status", "podIP"])),
    ("Node", 1, |o| text(o, &["spec", "nodeName"])),
];

const DEPLOYMENT: &[Row] = &[
    ("Ready", 0, ready),
    ("Up-to-date", 0, |o| number(o, &["status", "updatedReplicas"])),
    ("Available", 0, |o| number(o, &["status", "availableReplicas"])),
    AGE,
];

const REPLICA_SET: &[Row] = &[
    ("Desired", 0, |o| number(o, &["spec", "replicas"])),
    ("Current", 0, |o| number(o, &["status", "replicas"])),
    ("Ready", 0, |o| number(o, &["status", "readyReplicas"])),
    AGE,
];

const DAEMON_SET: &[Row] = &[
    ("Desired", 0, |o| number(o, &["status", "desiredNumberScheduled"])),
    ("Current", 0, |o| number(o, &["status", "currentNumberScheduled"])),
    ("Ready", 0, |o| number(o, &["status", "numberReady"])),
    AGE,
];

const SERVICE: &[Row] = &[
    ("Type", 0, |o| text(o, &["spec", "type"])),
    ("Cluster-IP", 0, |o| text(o, &["spec", "clusterIP"])),
    ("External-IP", 0, |_| "<none>".into()),
    ("Port(s)", 0, service_ports),
    AGE,
];

const EVENT: &[Row] = &[
    ("Last Seen", 0, last_seen),
    ("Type", 0, |o| text(o, &["type"])),
    ("Reason", 0, |o| text(o, &["reason"])),
    ("Object", 0, involved_object),
    ("Message", 0, |o| text(o, &[if o.at(&["note"]).is_some() { "note" } else { "message" }])),
];

/// Computes a cell from an object.
type Compute = fn(&Object) -> Value;

/// A row of the tables below: heading, priority, cell.
type Row = (&'static str, i64, Compute);

/// One column: its heading and the source of its cells.
enum Column<'r> {
    /// Computed by this server.
    BuiltIn(&'static Row),
    /// Read at the path in a definition.
    Declared(&'r PrinterColumn),
}

// === impl Column ===

impl Column<'_> {
    fn definition(&self) -> Value {
        let (name, kind, description, priority) = match self {
            Self::BuiltIn((name, priority, _)) => (*name, "string", "", *priority),
            Self::Declared(PrinterColumn { name, kind, description, priority, .. }) => {
                // The cells of dates are ages, which are strings.
                let kind = if kind == "date" { "string" } else { kind };
                (name.as_str(), kind, description.as_str(), *priority)
            }
        };
        json!({
            "name": name,
            "type": kind,
            "format": if name == "Name" { "name" } else { "" },
            "description": description,
            "priority": priority,
        })
    }

    fn cell(&self, object: &Object) -> Value {
        match self {
            Self::BuiltIn((_, _, cell)) => cell(object),
            Self::Declared(column) => {
                let value = declared_value(object, &column.path);
                match (column.kind.as_str(), value.as_str()) {
                    ("date", Some(time)) => age(time).into(),
                    _ => value,
                }
            }
        }
    }
}

/// The table of a list.
pub(crate) fn of_list<'a>(
    resource: &Resource,
    metadata: &Value,
    objects: impl Iterator<Item = &'a Stored>,
) -> Value {
    let columns = columns(resource);
    let rows: Vec<Value> = objects.map(|object| row(resource, &columns, object)).collect();
    table(&columns, metadata, &rows)
}

/// The table of one object, in an answer or a watch event.
pub(crate) fn of_object(resource: &Resource, object: &Stored) -> Value {
    let columns = columns(resource);
    let metadata = json!({"resourceVersion": object.rv.to_string()});
    table(&columns, &metadata, &[row(resource, &columns, object)])
}

/// The table of a bookmark: no cells, only the object with the version.
pub(crate) fn of_bookmark(resource: &Resource, object: &Value) -> Value {
    let columns = columns(resource);
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    table(&columns, &metadata, &[json!({"cells": [], "object": object})])
}

fn table(columns: &[Column<'_>], metadata: &Value, rows: &[Value]) -> Value {
    let definitions: Vec<Value> = columns.iter().map(Column::definition).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    })
}

fn row(resource: &Resource, columns: &[Column<'_>], stored: &Stored) -> Value {
    let object = stored.decode(resource);
    let cells: Vec<Value> = columns.iter().map(|column| column.cell(&object)).collect();
    let mut partial = object.metadata;
    partial.remove("managedFields");
    let partial = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": partial,
    });
    json!({"cells": cells, "object": partial})
}

/// The columns of a resource, in order.
fn columns(resource: &Resource) -> Vec<Column<'_>> {
    if resource.plural == "events" && !resource.custom {
        return EVENT.iter().map(Column::BuiltIn).collect();
    }
    let built_in = if resource.columns.is_empty() { rows(resource) } else { &[] };
    let others = built_in.iter().map(Column::BuiltIn).chain(resource.columns.iter().map(Column::Declared));
    std::iter::once(Column::BuiltIn(&NAME)).chain(others).collect()
}

/// The columns after the name.
fn rows(resource: &Resource) -> &'static [Row] {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => POD,
        ("apps", "deployments") => DEPLOYMENT,
        ("apps", "replicasets") | ("", "replicationcontrollers") => REPLICA_SET,
        ("apps", "statefulsets") => &[("Ready", 0, ready), AGE],
        ("apps", "daemonsets") => DAEMON_SET,
        ("", "services") => SERVICE,
        ("", "configmaps") => &[("Data", 0, |o| entries(o, &["data", "binaryData"])), AGE],
        ("", "secrets") => {
            &[("Type", 0, |o| text(o, &["type"])), ("Data", 0, |o| entries(o, &["data"])), AGE]
        }
        ("", "namespaces") => &[("Status", 0, |o| text(o, &["status", "phase"])), AGE],
        ("batch", "jobs") => &[("Completions", 0, |o| ratio(o, "succeeded", "completions")), AGE],
        ("coordination.k8s.io", "leases") => &[("Holder", 0, |o| text(o, &["spec", "holderIdentity"])), AGE],
        (crd::GROUP, crd::PLURAL) => &[("Created At", 0, |o| text(o, &["metadata", "creationTimestamp"]))],
        _ => &[AGE],
    }
}

/// The value at a JSONPath of field names and indexes: `.status.conditions[0].type`.
fn declared_value(object: &Object, path: &str) -> Value {
    let path = path.replace('[', ".").replace(']', "");
    let mut steps = path.split('.').filter(|step| !step.is_empty());
    let start = match steps.next() {
        Some("metadata") => steps.next().and_then(|field| object.metadata.get(field)),
        first => first.and_then(|field| object.fields.get(field)),
    };
    let found = start.and_then(|start| {
        steps.try_fold(start, |value, step| match step.parse::<usize>() {
            Ok(index) if value.is_array() => value.get(index),
            _ => value.get(step),
        })
    });
    found.cloned().unwrap_or_default()
}

fn text(object: &Object, path: &[&str]) -> Value {
    match object.text_at(path) {
        "" => "<none>".into(),
        text => text.into(),
    }
}

fn number(object: &Object, path: &[&str]) -> Value {
    object.at(path).and_then(Value::as_i64).unwrap_or(0).into()
}

fn created(object: &Object) -> Value {
    age(object.text_at(&["metadata", "creationTimestamp"])).into()
}

fn ready(object: &Object) -> Value {
    ratio(object, "readyReplicas", "replicas")
}

fn service_ports(object: &Object) -> Value {
    let port = |port: &Value| {
        let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
        Some(format!("{}/{protocol}", port.get("port")?))
    };
    let ports: Vec<String> = object.list_at(&["spec", "ports"]).iter().filter_map(port).collect();
    if ports.is_empty() { "<none>".into() } else { ports.join(",").into() }
}

/// A number in the status, of a number in the spec.
fn ratio(object: &Object, done: &str, wanted: &str) -> Value {
    format!("{}/{}", number(object, &["status", done]), number(object, &["spec", wanted])).into()
}

fn entries(object: &Object, maps: &[&str]) -> Value {
    let count = |map: &&str| object.at(&[*map]).and_then(Value::as_object).map_or(0, serde_json::Map::len);
    maps.iter().map(count).sum::<usize>().into()
}

fn pod_ready(object: &Object) -> Value {
    let statuses = object.list_at(&["status", "containerStatuses"]);
    let ready = statuses.iter().filter(|status| status["ready"] == true).count();
    format!("{ready}/{}", object.list_at(&["spec", "containers"]).len()).into()
}

fn pod_status(object: &Object) -> Value {
    if object.is_deleting() {
        return "Terminating".into();
    }
    let statuses = object.list_at(&["status", "containerStatuses"]).iter();
    let waiting = statuses.filter_map(|status| status.pointer("/state/waiting/reason")).next();
    waiting.cloned().unwrap_or_else(|| text(object, &["status", "phase"]))
}

fn pod_restarts(object: &Object) -> Value {
    let statuses = object.list_at(&["status", "containerStatuses"]).iter();
    statuses.filter_map(|status| status.get("restartCount")?.as_i64()).sum::<i64>().into()
}

fn last_seen(object: &Object) -> Value {
    let times = [&["lastTimestamp"], &["eventTime"], &["firstTimestamp"]];
    match times.iter().find_map(|path| object.at(*path).and_then(Value::as_str)) {
        Some(time) => age(time).into(),
        None => created(object),
    }
}

fn involved_object(object: &Object) -> Value {
    let of = if object.at(&["regarding"]).is_some() { "regarding" } else { "involvedObject" };
    let part = |field: &str| object.text_at(&[of, field]);
    format!("{}/{}", part("kind").to_ascii_lowercase(), part("name")).into()
}

/// The time since a Kubernetes timestamp; `<unknown>` if the text is not a timestamp.
fn age(time: &str) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => human(Timestamp::now().as_second().saturating_sub(then.as_second())),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// A duration as kubectl prints it: `5s`, `3m12s`, `4h5m`, `2d`. It has two units if the larger unit alone is too coarse.
fn human(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |large: i64, unit: char, small: i64, small_unit: char| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{small_unit}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => pair(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_the_form_of_kubectl() {
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (192, "3m12s"),
            (3600, "60m"),
            (14_700, "4h5m"),
            (40_000, "11h"),
            (180_000, "2d2h"),
            (864_000, "10d"),
        ] {
            assert_eq!(human(seconds), text, "{seconds}");
        }
        assert_eq!(age("nonsense"), "<unknown>");
    }
}
