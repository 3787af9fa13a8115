//! Tables, which `kubectl get` prints.

use serde_json::{Value, json};

use crate::{registry::Resource, storage::Stored};

mod age;
mod columns;

use columns::Column;

/// The table of a list.
pub(crate) fn of_list<'a>(
    resource: &Resource,
    metadata: &Value,
    objects: impl Iterator<Item = &'a Stored>,
) -> Value {
    let columns = columns::of(resource);
    let rows: Vec<Value> = objects.map(|object| row(resource, &columns, object)).collect();
    table(&columns, metadata, &rows)
}

/// The table of one object, in an answer or a watch event.
pub(crate) fn of_object(resource: &Resource, object: &Stored) -> Value {
    let columns = columns::of(resource);
    let metadata = json!({"resourceVersion": object.rv.to_string()});
    table(&columns, &metadata, &[row(resource, &columns, object)])
}

/// The table of a bookmark: no cells, only the object with the version.
pub(crate) fn of_bookmark(resource: &Resource, object: &Value) -> Value {
    let columns = columns::of(resource);
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    table(&columns, &metadata, &[json!({"cells": [], "object": object})])
}

fn table(columns: &[Column], metadata: &Value, rows: &[Value]) -> Value {
    let definitions: Vec<Value> = columns.iter().map(Column::definition).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    })
}

fn row(resource: &Resource, columns: &[Column], stored: &Stored) -> Value {
    let object = stored.decode(resource);
    let cells: Vec<Value> = columns.iter().map(|column| column.cell(&object)).collect();
    let mut partial = object.metadata;
    partial.remove("managedFields");
    let partial = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": partial,
    });
    json!({"cells": cells, "object": partial})
}
