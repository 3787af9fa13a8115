//! `informer config schema`, judged by a validator of the few words of JSON Schema that it uses.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::keys;
use crate::config::{SMALLEST, schema};

/// The problems of a value; empty if it is valid.
fn faults(value: &Value, schema: &Value, path: &str) -> Vec<String> {
    let mut all = Vec::new();
    let is_a = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => panic!("{schema:#}"),
    };
    if schema.get("type").is_some_and(|kind| !is_a(kind)) {
        all.push(format!("{path}: {value} is not of type {}", schema["type"]));
    }
    if schema.get("enum").is_some_and(|words| !words.as_array().unwrap().contains(value)) {
        all.push(format!("{path}: {value} is not one of {}", schema["enum"]));
    }
    if let Some(either) = schema.get("anyOf").and_then(Value::as_array)
        && either.iter().all(|schema| !faults(value, schema, path).is_empty())
    {
        all.push(format!("{path}: {value} is not one of {either:?}"));
    }
    let least = schema.get("minLength").and_then(Value::as_u64).zip(value.as_str());
    if least.is_some_and(|(least, text)| (text.len() as u64) < least) {
        all.push(format!("{path}: {value} is too short"));
    }
    let number = |key: &str| schema.get(key).and_then(Value::as_f64).zip(value.as_f64());
    if number("minimum").is_some_and(|(least, own)| own < least)
        || number("maximum").is_some_and(|(most, own)| own > most)
    {
        all.push(format!("{path}: {value} is out of bounds"));
    }
    for item in value.as_array().into_iter().flatten() {
        all.extend(schema.get("items").map(|items| faults(item, items, path)).into_iter().flatten());
    }
    if let (Some(entries), Some("object")) = (value.as_object(), schema["type"].as_str()) {
        let no_properties = json!({});
        let properties = schema.get("properties").unwrap_or(&no_properties);
        for (key, value) in entries {
            let path = format!("{path}.{key}");
            match (properties.get(key), schema.get("additionalProperties")) {
                (Some(own), _) => all.extend(faults(value, own, &path)),
                (None, Some(Value::Bool(false))) => all.push(format!("{path}: unknown")),
                (None, Some(other)) => all.extend(faults(value, other, &path)),
                (None, None) => {}
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let missing = required.filter(|key| !entries.contains_key(key.as_str().unwrap()));
        all.extend(missing.map(|key| format!("{path}: {key} is missing")));
    }
    all
}

fn faults_of(text: &str) -> Vec<String> {
    let file: toml::Table = text.parse().unwrap();
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    faults(&serde_json::to_value(file).unwrap(), &schema, "")
}

#[test]
fn every_key_is_in_the_schema() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();

    for (header, entry) in keys() {
        let mut table = &schema;
        for name in header.trim_matches(['[', ']']).split('.').filter(|name| !name.is_empty()) {
            table = &table["properties"][name];
            table = table.get("items").unwrap_or(table);
        }
        let described = table["properties"][entry.name].is_object();
        assert!(described, "{header} {}", entry.name);
    }
}

#[test]
fn the_annotated_file_and_those_of_the_examples_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let examples = fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let files = examples.map(|path| path.join("informer.toml")).filter(|path| path.is_file());
    let files: Vec<_> = files.chain([root.join("informer.toml")]).collect();

    assert!(files.len() > 3, "{files:?}");
    for file in files {
        assert_eq!(faults_of(&fs::read_to_string(&file).unwrap()), [""; 0], "{}", file.display());
    }
    assert_eq!(faults_of(SMALLEST), [""; 0]);
}

#[test]
fn the_schema_finds_mistakes() {
    for (mistake, fault) in [
        ("[plugin.limits]\nmemori = 1", ".plugin.limits.memori: unknown"),
        ("[plugin.queue]\nworkers = 0", ".plugin.queue.workers: 0 is out of bounds"),
        (
            "[plugin.queue]\ndelivery = \"all\"",
            ".plugin.queue.delivery: \"all\" is not one of [\"latest\",\"every\"]",
        ),
        ("[[watch]]\nlabels = \"a=b\"", ".watch: \"gvr\" is missing"),
        ("[plugin.limits]\nlog-lines = \"1\"", ".plugin.limits.log-lines: \"1\" is not of type \"integer\""),
        ("[plugin.limits]\ndeadline = \"\"", ".plugin.limits.deadline: \"\" is too short"),
        ("[plugin.limits]\ncpu = \"/s\"", ".plugin.limits.cpu: \"/s\" is too short"),
    ] {
        assert_eq!(faults_of(&format!("{SMALLEST}{mistake}")), [fault], "{mistake}");
    }
}
