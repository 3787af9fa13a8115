//! The table columns of each resource.

use serde_json::{Value, json};

use super::age;
use crate::{
    crd,
    object::Object,
    registry::{PrinterColumn, Resource},
};

/// One column: its heading and the source of its cells.
pub(super) struct Column {
    name: String,
    kind: &'static str,
    priority: i64,
    cell: Cell,
}

/// Computes a cell from an object.
type Compute = fn(&Object) -> Value;

/// The source of a cell.
enum Cell {
    /// Computed by this server.
    Computed(Compute),
    /// Read at the path in a definition.
    Path(PrinterColumn),
}

/// A row of the tables below: heading, priority, cell.
type Row = (&'static str, i64, Compute);

/// The columns of a resource, in order.
pub(super) fn of(resource: &Resource) -> Vec<Column> {
    let computed = |rows: &[Row]| {
        rows.iter().map(|(name, priority, cell)| Column::computed(name, *priority, *cell)).collect()
    };
    if resource.plural == "events" && !resource.custom {
        return computed(EVENT);
    }
    let mut columns: Vec<Column> = computed(&[NAME]);
    if resource.columns.is_empty() {
        columns.extend::<Vec<Column>>(computed(rows(resource)));
    } else {
        columns.extend(resource.columns.iter().cloned().map(Column::declared));
    }
    columns
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
        ("batch", "jobs") => &[("Completions", 0, completions), AGE],
        ("coordination.k8s.io", "leases") => &[("Holder", 0, |o| text(o, &["spec", "holderIdentity"])), AGE],
        (crd::GROUP, crd::PLURAL) => &[("Created At", 0, |o| text(o, &["metadata", "creationTimestamp"]))],
        _ => &[AGE],
    }
}

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

// === impl Column ===

impl Column {
    fn computed(name: &str, priority: i64, cell: Compute) -> Self {
        Self { name: name.to_owned(), kind: "string", priority, cell: Cell::Computed(cell) }
    }

    fn declared(column: PrinterColumn) -> Self {
        Self { name: column.name.clone(), kind: "", priority: column.priority, cell: Cell::Path(column) }
    }

    pub(super) fn definition(&self) -> Value {
        let (kind, description) = match &self.cell {
            Cell::Computed(_) => (self.kind, ""),
            // The cells of dates are ages, which are strings.
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
    match object.text_at(path) {
        "" => "<none>".into(),
        text => text.into(),
    }
}

fn number(object: &Object, path: &[&str]) -> Value {
    object.at(path).and_then(Value::as_i64).unwrap_or(0).into()
}

fn created(object: &Object) -> Value {
    age::since(object.text_at(&["metadata", "creationTimestamp"])).into()
}

fn ready(object: &Object) -> Value {
    ratio(object, &["status", "readyReplicas"], &["spec", "replicas"])
}

fn service_ports(object: &Object) -> Value {
    let port = |port: &Value| {
        let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
        Some(format!("{}/{protocol}", port.get("port")?))
    };
    let ports: Vec<String> = object.list_at(&["spec", "ports"]).iter().filter_map(port).collect();
    if ports.is_empty() { "<none>".into() } else { ports.join(",").into() }
}

fn completions(object: &Object) -> Value {
    ratio(object, &["status", "succeeded"], &["spec", "completions"])
}

fn ratio(object: &Object, part: &[&str], whole: &[&str]) -> Value {
    format!("{}/{}", number(object, part), number(object, whole)).into()
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
        Some(time) => age::since(time).into(),
        None => created(object),
    }
}

fn involved_object(object: &Object) -> Value {
    let of = if object.at(&["regarding"]).is_some() { "regarding" } else { "involvedObject" };
    let part = |field: &str| object.text_at(&[of, field]);
    format!("{}/{}", part("kind").to_ascii_lowercase(), part("name")).into()
}
