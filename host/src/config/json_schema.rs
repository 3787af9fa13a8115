//! A JSON Schema of the file, for editors.

use serde_json::{Map, Value, json};

use super::{
    document,
    key::{Described, Entry, Kind},
};

/// The schema of a whole file, in the dialect of 2020-12.
pub(super) fn schema() -> Value {
    let mut schema = table(&document::entries(), "The configuration of an informer host.");
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("informer.toml"));
    Value::Object(schema)
}

fn table(entries: &[Entry], doc: &str) -> Map<String, Value> {
    let properties: Map<String, Value> =
        entries.iter().map(|entry| (entry.name.to_owned(), Value::Object(property(entry)))).collect();
    let required = entries.iter().filter(|entry| is_required(entry)).map(|entry| entry.name);
    let required: Vec<&str> = required.collect();
    object(json!({
        "type": "object",
        "description": doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}

/// The schema of one key.
pub(super) fn property(entry: &Entry) -> Map<String, Value> {
    match &entry.kind {
        Kind::Table(entries, doc) => table(entries, doc),
        Kind::Tables(entries, doc) => object(json!({"type": "array", "items": table(entries, doc)})),
        Kind::Value(described) => value(described),
    }
}

fn value(described: &Described) -> Map<String, Value> {
    let mut schema = object(described.schema.clone());
    let bounds = described.bounds.as_ref().map(|bounds| format!(" Bounds: {bounds}.")).unwrap_or_default();
    schema.insert("description".to_owned(), json!(format!("{}{bounds}", described.doc)));
    let default = described.default.as_ref().and_then(|default| {
        let table: toml::Table = format!("key = {default}").parse().ok()?;
        serde_json::to_value(table.get("key")?).ok()
    });
    schema.extend(default.map(|default| ("default".to_owned(), default)));
    schema
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn is_required(entry: &Entry) -> bool {
    matches!(&entry.kind, Kind::Value(described) if described.required)
}
