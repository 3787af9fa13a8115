//! The markers of the reloader in an object.

use std::{collections::BTreeMap, fmt::Write};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;
use sha1::{Digest, Sha1};

use super::super::fixture::Source;

const LAST: &str = "reloader.stakater.com/last-reloaded-from";
const APPLIED: &str = "reloader.informer.dev/applied";

/// The hashes of the sources that an object was rolled for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Markers {
    variables: BTreeMap<String, String>,
    /// The last source, with its hash.
    last: Option<(String, String)>,
    applied: BTreeMap<String, String>,
}

// === impl Markers ===

impl Markers {
    pub(super) fn of(object: &Value) -> Self {
        let template = &object["spec"]["template"];
        let variables = template["spec"]["containers"][0]["env"].as_array().into_iter().flatten();
        let variables = variables.filter_map(|one| {
            let name = one["name"].as_str().filter(|name| name.starts_with("STAKATER_"))?;
            Some((name.to_owned(), one["value"].as_str()?.to_owned()))
        });
        let last = parsed(&template["metadata"]["annotations"][LAST]);
        let last = last.map(|last| (format!("{}/{}", last["type"], last["name"]), last["hash"].to_string()));
        let applied = parsed(&object["metadata"]["annotations"][APPLIED]);
        let applied = applied.and_then(|applied| serde_json::from_value(applied).ok());
        Self { variables: variables.collect(), last, applied: applied.unwrap_or_default() }
    }

    /// The hash of one source.
    pub(super) fn hash(&self, (plural, name): Source) -> Option<String> {
        let (marker, kind) =
            if plural == "secrets" { ("SECRET", "Secret") } else { ("CONFIGMAP", "ConfigMap") };
        let variable = format!("STAKATER_{}_{marker}", name.replace('-', "_").to_uppercase());
        let found = self.variables.get(&variable).or_else(|| self.applied.get(&format!("{kind}/{name}")));
        found.cloned()
    }
}

/// The template without the markers.
pub(super) fn rest(object: &Value) -> Value {
    let mut template = object["spec"]["template"].clone();
    if let Some(annotations) = template.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST);
    }
    if template["metadata"]["annotations"].as_object().is_some_and(serde_json::Map::is_empty) {
        template["metadata"].as_object_mut().unwrap().remove("annotations");
    }
    if let Some(container) = template.pointer_mut("/spec/containers/0").and_then(Value::as_object_mut) {
        let env = container.remove("env").and_then(|env| env.as_array().cloned()).unwrap_or_default();
        let is_marker = |one: &Value| one["name"].as_str().is_some_and(|name| name.starts_with("STAKATER_"));
        let others: Vec<_> = env.into_iter().filter(|one| !is_marker(one)).collect();
        container.insert("env".to_owned(), others.into());
    }
    template
}

/// The hash of the original: SHA-1 of the sorted `key=value` joined by `;`.
pub(super) fn hash((plural, _): Source, source: &Value) -> String {
    let entries = source["data"].as_object().into_iter().flatten();
    let mut lines: Vec<Vec<u8>> = entries
        .map(|(key, value)| {
            let value = value.as_str().unwrap();
            let bytes = match plural {
                "secrets" => BASE64_STANDARD.decode(value).unwrap(),
                _ => value.as_bytes().to_vec(),
            };
            [key.as_bytes(), b"=", &bytes].concat()
        })
        .collect();
    lines.sort();
    let digest = Sha1::digest(lines.join(&b';'));
    digest.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn parsed(annotation: &Value) -> Option<Value> {
    serde_json::from_str(annotation.as_str()?).ok()
}
