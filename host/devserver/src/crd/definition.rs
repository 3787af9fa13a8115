//! The resources that a definition defines, and its status.

use serde_json::{Value, json};

use crate::{
    object::{Object, list_of, timestamp},
    registry::{PrinterColumn, Resource, Scale},
};

/// One resource for each served version. An invalid definition defines no resource; validation refuses it earlier.
pub(crate) fn resources(definition: &Object) -> Vec<Resource> {
    let served = definition.list_at(&["spec", "versions"]).iter().filter(|version| version["served"] == true);
    served.filter_map(|version| resource(definition, version)).collect()
}

fn resource(definition: &Object, version: &Value) -> Option<Resource> {
    let spec = definition.fields.get("spec")?;
    let names = spec.get("names")?;
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    let texts = |field: &str| -> Vec<String> {
        list_of(names, field).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let kind = text(names, "kind")?;
    let subresource = |name: &str| version.get("subresources").and_then(|all| all.get(name));
    Some(Resource {
        group: text(spec, "group")?,
        version: text(version, "name")?,
        plural: text(names, "plural")?,
        singular: text(names, "singular").unwrap_or_else(|| kind.to_ascii_lowercase()),
        list_kind: text(names, "listKind").unwrap_or_else(|| format!("{kind}List")),
        kind,
        short_names: texts("shortNames"),
        categories: texts("categories"),
        namespaced: spec.get("scope").is_some_and(|scope| scope == "Namespaced"),
        custom: true,
        status: subresource("status").is_some_and(Value::is_object),
        scale: subresource("scale").and_then(scale),
        generation: true,
        selectable: selectable(version),
        columns: columns(version),
        ..Resource::default()
    })
}

fn scale(scale: &Value) -> Option<Scale> {
    let path = |field: &str| scale.get(field).and_then(Value::as_str).map(path_of);
    Some(Scale {
        spec_replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        selector: path("labelSelectorPath"),
    })
}

fn selectable(version: &Value) -> Vec<String> {
    let fields = list_of(version, "selectableFields").iter();
    let paths = fields.filter_map(|field| field.get("jsonPath")?.as_str());
    paths.map(|path| path.trim_start_matches('.').to_owned()).collect()
}

fn columns(version: &Value) -> Vec<PrinterColumn> {
    let column = |column: &Value| {
        let text = |field: &str| column.get(field).and_then(Value::as_str).map(str::to_owned);
        Some(PrinterColumn {
            name: text("name")?,
            kind: text("type")?,
            description: text("description").unwrap_or_default(),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
            path: text("jsonPath")?,
        })
    };
    list_of(version, "additionalPrinterColumns").iter().filter_map(column).collect()
}

/// The field names of a path such as `.spec.replicas`.
fn path_of(path: &str) -> Vec<String> {
    path.split('.').filter(|field| !field.is_empty()).map(str::to_owned).collect()
}

/// Writes the status of a definition that is served.
pub(crate) fn accept(definition: &mut Object) {
    let names = definition.at(&["spec", "names"]).cloned().unwrap_or_default();
    definition.set_at(&["status", "acceptedNames"], names);
    if definition.at(&["status", "conditions"]).is_none() {
        let now = timestamp();
        let condition = |kind: &str, reason: &str, message: &str| {
            json!({
                "type": kind, "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": now,
            })
        };
        let conditions = json!([
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ]);
        definition.set_at(&["status", "conditions"], conditions);
    }
    let storage = definition.list_at(&["spec", "versions"]).iter().find(|version| version["storage"] == true);
    let Some(storage) = storage.and_then(|version| version.get("name")).cloned() else { return };
    let mut stored = definition.list_at(&["status", "storedVersions"]).to_vec();
    if !stored.contains(&storage) {
        stored.push(storage);
    }
    definition.set_at(&["status", "storedVersions"], stored.into());
}
