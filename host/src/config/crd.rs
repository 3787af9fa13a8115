//! The definitions of `Plugin` and `ClusterPlugin`, from the tables of `[[plugin]]`.

use serde_json::{Map, Value, json};

use super::{
    json_schema::property,
    key::{Entry, Kind},
    objects::NAME_BYTES,
    plugin::OBJECT,
};

const GROUP: &str = "informer.dev";

const VERSION: &str = "v1alpha1";

/// The definitions of both resources, for `kubectl apply`.
pub fn definitions() -> [Value; 2] {
    let plugin = json!({
        "plural": "plugins", "singular": "plugin", "kind": "Plugin", "listKind": "PluginList", "categories": ["informer"],
    });
    let cluster_plugin = json!({
        "plural": "clusterplugins", "singular": "clusterplugin", "kind": "ClusterPlugin",
        "listKind": "ClusterPluginList", "categories": ["informer"],
    });
    [
        definition(
            "Namespaced",
            &plugin,
            "A plugin of an informer host. It receives, reads and writes objects of its own namespace only, within what the \
             operator of the host allows.",
        ),
        definition(
            "Cluster",
            &cluster_plugin,
            "A plugin of an informer host for the whole cluster, within what the operator of the host allows.",
        ),
    ]
}

fn definition(scope: &str, names: &Value, doc: &str) -> Value {
    let plural = names.get("plural").and_then(Value::as_str).unwrap_or_default();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}"), "labels": {"app.kubernetes.io/part-of": "informer"}},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": names,
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(),
                "schema": {"openAPIV3Schema": schema(doc)},
            }],
        },
    })
}

fn columns() -> Value {
    json!([
        {"name": "Version", "type": "string", "jsonPath": ".status.version"},
        {"name": "State", "type": "string", "jsonPath": ".status.state"},
        {"name": "Calls", "type": "integer", "jsonPath": ".status.calls"},
        {"name": "Failures", "type": "integer", "jsonPath": ".status.failures"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Source", "type": "string", "jsonPath": ".spec.source", "priority": 1},
        {
            "name": "Message", "type": "string", "priority": 1,
            "jsonPath": ".status.conditions[?(@.type==\"Loaded\")].message",
        },
    ])
}

fn schema(doc: &str) -> Value {
    let name = format!("self.metadata.name.size() <= {NAME_BYTES} && !self.metadata.name.contains('.')");
    let mut spec = table(&OBJECT.entries(), "The keys of [[plugin]] in informer.toml, by the same names.");
    spec.insert("required".to_owned(), json!(["source", "on"]));
    json!({
        "type": "object",
        "description": doc,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status(),
        },
        "x-kubernetes-validations": [{
            "rule": name,
            "message": format!("the name must have at most {NAME_BYTES} lower-case letters, digits and -"),
        }],
    })
}

fn status() -> Value {
    let text = |doc: &str| json!({"type": "string", "description": doc});
    let number = |doc: &str| json!({"type": "integer", "format": "int64", "description": doc});
    json!({
        "type": "object",
        "description": "What the host says of the plugin.",
        "properties": {
            "state": text("Serving, Syncing, Loading, Quarantined, Outdated or Refused."),
            "name": text("The name of the plugin in the logs, metrics and commands of the host."),
            "version": text("The version that the component in service gives itself."),
            "digest": text("The SHA-256 of the component in service."),
            "calls": number("Calls of the component since the host started, about a minute old at most."),
            "failures": number("Calls that failed since the host started, about a minute old at most."),
            "observedGeneration": number("The generation of the spec that the host judged last."),
            "conditions": {
                "type": "array",
                "description": "Loaded, Synced and Quarantined.",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": condition(),
            },
        },
    })
}

/// `metav1.Condition`
fn condition() -> Value {
    json!({
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": {"type": "string"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": {"type": "string"},
            "message": {"type": "string"},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": {"type": "integer", "format": "int64"},
        },
    })
}

/// The structural schema of a table.
fn table(entries: &[Entry], doc: &str) -> Map<String, Value> {
    let properties: Map<String, Value> =
        entries.iter().map(|entry| (entry.name.to_owned(), Value::Object(structural(entry)))).collect();
    let required = entries.iter().filter(|entry| matches!(&entry.kind, Kind::Value(key) if key.required));
    let required: Vec<&str> = required.map(|entry| entry.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("description".to_owned(), json!(doc));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// As in the JSON Schema of the file, with what a CustomResourceDefinition accepts. Defaults are left out: the defaults of the operator
/// would never apply.
fn structural(entry: &Entry) -> Map<String, Value> {
    let described = match &entry.kind {
        Kind::Table(entries, doc) => return table(entries, doc),
        Kind::Tables(entries, doc) => {
            let items = Value::Object(table(entries, doc));
            return [("type".to_owned(), json!("array")), ("items".to_owned(), items)].into_iter().collect();
        }
        Kind::Value(described) => described,
    };
    let mut schema = property(entry);
    schema.remove("default");
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(default) = &described.default {
        schema.insert("description".to_owned(), json!(format!("{text} Default: {default}.")));
    }
    if described.is_table {
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
    complete(&mut schema);
    if entry.name == "source" {
        schema.insert("pattern".to_owned(), json!("^oci://"));
    }
    schema
}

/// Adds the types that a structural schema needs.
fn complete(schema: &mut Map<String, Value>) {
    if schema.contains_key("enum") {
        schema.insert("type".to_owned(), json!("string"));
    }
    if let Some(either) = schema.remove("anyOf") {
        let list = either.as_array().and_then(|either| either.iter().find(|one| one["type"] == "array"));
        match list.and_then(Value::as_object) {
            // A list of one is written with brackets here.
            Some(list) => schema.extend(list.clone()),
            // A number of bytes, or a text with a unit.
            None => drop(schema.insert("x-kubernetes-int-or-string".to_owned(), json!(true))),
        }
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        complete(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `look` with each schema and its path.
    fn each(schema: &Value, path: &str, look: &mut dyn FnMut(&Value, &str)) {
        look(schema, path);
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            each(inner, &format!("{path}.{name}"), look);
        }
        if schema["items"].is_object() {
            each(&schema["items"], &format!("{path}[]"), look);
        }
    }

    #[test]
    fn every_key_has_a_type_and_no_word_that_a_structural_schema_forbids() {
        for definition in definitions() {
            let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let mut seen = 0;
            each(schema, "", &mut |schema, path| {
                seen += 1;
                let typed = schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true;
                assert!(typed, "{path}: {schema}");
                for word in ["default", "additionalProperties", "anyOf", "$ref"] {
                    assert!(schema.get(word).is_none(), "{path} has {word}");
                }
            });
            assert!(seen > 60, "{seen}");
        }
    }

    #[test]
    fn the_keys_are_those_of_a_plugin_without_what_reaches_the_host() {
        let [plugin, _] = definitions();
        let spec = &plugin["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let keys: Vec<&String> = spec["properties"].as_object().unwrap().keys().collect();

        for key in ["source", "digest", "on", "grant", "limits", "log-level", "config"] {
            assert!(keys.iter().any(|own| *own == key), "{key}");
        }
        for key in ["name", "as", "config-files"] {
            assert!(keys.iter().all(|own| *own != key), "{key}");
        }
        assert_eq!(spec["properties"]["config"]["x-kubernetes-preserve-unknown-fields"], true);
        assert_eq!(spec["properties"]["limits"]["properties"]["memory"]["x-kubernetes-int-or-string"], true);
        assert_eq!(spec["required"], json!(["source", "on"]));
    }
}
