//! The sources that a pod template refers to, and the container that each marker belongs to.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kind::{SourceId, SourceKind};

/// The index of the container that the marker of each source belongs to.
pub(crate) type References = BTreeMap<SourceId, usize>;

/// The sources of the pod specification: mounted volumes first, then variables. A reference of an init container belongs to the
/// first container. A volume that no container mounts is no reference.
pub(crate) fn references(pod: &Value) -> References {
    let mut found = References::new();
    let containers = holders(pod);
    for volume in array(pod, "/volumes") {
        let sources = volume_sources(volume);
        if sources.is_empty() {
            continue;
        }
        let name = text(volume, "/name");
        let mounts = |container: &Value| {
            array(container, "/volumeMounts").any(|mount| name.is_some() && text(mount, "/name") == name)
        };
        if let Some((index, _)) = containers.iter().find(|(_, container)| mounts(container)) {
            sources.into_iter().for_each(|source| {
                found.entry(source).or_insert(*index);
            });
        }
    }
    for (index, container) in containers {
        for source in variables(container) {
            found.entry(source).or_insert(index);
        }
    }
    found
}

/// The containers, and then the init containers with the index of the first container.
fn holders(pod: &Value) -> Vec<(usize, &Value)> {
    let init = array(pod, "/initContainers").map(|container| (0, container));
    array(pod, "/containers").enumerate().chain(init).collect()
}

fn volume_sources(volume: &Value) -> Vec<SourceId> {
    let projected = array(volume, "/projected/sources").flat_map(|source| {
        named(source, [("/configMap/name", SourceKind::ConfigMap), ("/secret/name", SourceKind::Secret)])
    });
    named(volume, [("/configMap/name", SourceKind::ConfigMap), ("/secret/secretName", SourceKind::Secret)])
        .chain(projected)
        .collect()
}

fn variables(container: &Value) -> impl Iterator<Item = SourceId> {
    let keys = array(container, "/env").flat_map(|variable| {
        named(
            variable,
            [
                ("/valueFrom/configMapKeyRef/name", SourceKind::ConfigMap),
                ("/valueFrom/secretKeyRef/name", SourceKind::Secret),
            ],
        )
    });
    let whole = array(container, "/envFrom").flat_map(|from| {
        named(from, [("/configMapRef/name", SourceKind::ConfigMap), ("/secretRef/name", SourceKind::Secret)])
    });
    keys.chain(whole)
}

fn named<'a>(
    value: &'a Value,
    pointers: [(&'static str, SourceKind); 2],
) -> impl Iterator<Item = SourceId> + use<'a> {
    pointers.into_iter().filter_map(|(pointer, kind)| Some(SourceId::new(kind, text(value, pointer)?)))
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

fn array<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_form_of_a_reference_counts_and_has_its_container() {
        let pod = json!({
            "volumes": [
                {"name": "config", "configMap": {"name": "mounted"}},
                {"name": "tls", "secret": {"secretName": "tls"}},
                {"name": "all", "projected": {"sources": [
                    {"configMap": {"name": "projected"}}, {"secret": {"name": "projected"}},
                ]}},
                {"name": "unused", "configMap": {"name": "unused"}},
                {"name": "init-only", "configMap": {"name": "init-volume"}},
            ],
            "initContainers": [{
                "name": "init", "volumeMounts": [{"name": "init-only"}],
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "init-env"}}}],
            }],
            "containers": [
                {"name": "a", "envFrom": [{"configMapRef": {"name": "whole"}}, {"secretRef": {"name": "whole"}}]},
                {
                    "name": "b", "volumeMounts": [{"name": "config"}, {"name": "tls"}, {"name": "all"}],
                    "env": [
                        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "key"}}}, {"name": "B", "value": "x"},
                        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "key"}}},
                        {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "whole"}}},
                    ],
                },
            ],
        });

        let found: Vec<_> =
            references(&pod).into_iter().map(|(source, container)| format!("{source} {container}")).collect();

        assert_eq!(
            found,
            [
                "ConfigMap/init-volume 0",
                "ConfigMap/key 1",
                "ConfigMap/mounted 1",
                "ConfigMap/projected 1",
                "ConfigMap/whole 0",
                "Secret/init-env 0",
                "Secret/key 1",
                "Secret/projected 1",
                "Secret/tls 1",
                "Secret/whole 0",
            ]
        );
    }

    #[test]
    fn an_odd_pod_has_no_references() {
        for pod in [json!(null), json!({}), json!({"containers": "x", "volumes": [1, {"configMap": {}}]})] {
            assert!(references(&pod).is_empty(), "{pod}");
        }
    }
}
