//! The five resources of a run and their objects.

use std::fmt;

use serde_json::{Value, json};

/// A finalizer that only the writer removes.
const FINALIZER: &str = "oracle.informer.test/hold";

/// The label with which a run selects its cluster-scoped objects.
pub(super) const RUN_LABEL: &str = "oracle-run";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    Pods,
    ConfigMaps,
    Deployments,
    /// A custom resource: see [`definition`].
    Gadgets,
    /// A cluster-scoped resource.
    ClusterRoles,
}

// === impl Resource ===

impl Resource {
    pub(super) const ALL: [Self; 5] =
        [Self::Pods, Self::ConfigMaps, Self::Deployments, Self::Gadgets, Self::ClusterRoles];

    /// The name of the resource in the configuration of both sides.
    pub(super) fn gvr(self) -> &'static str {
        match self {
            Self::Pods => "v1/pods",
            Self::ConfigMaps => "v1/configmaps",
            Self::Deployments => "apps/v1/deployments",
            Self::Gadgets => "oracle.informer.test/v1/gadgets",
            Self::ClusterRoles => "rbac.authorization.k8s.io/v1/clusterroles",
        }
    }

    pub(super) fn of_gvr(gvr: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.gvr() == gvr)
    }

    pub(super) fn is_namespaced(self) -> bool {
        self != Self::ClusterRoles
    }

    pub(super) fn has_status(self) -> bool {
        !matches!(self, Self::ConfigMaps | Self::ClusterRoles)
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Pods => "Pod",
            Self::ConfigMaps => "ConfigMap",
            Self::Deployments => "Deployment",
            Self::Gadgets => "Gadget",
            Self::ClusterRoles => "ClusterRole",
        }
    }

    fn api_version(self) -> &'static str {
        self.gvr().rsplit_once('/').unwrap().0
    }

    /// The path of the collection.
    pub(super) fn path(self, namespace: &str) -> String {
        let (version, plural) = self.gvr().rsplit_once('/').unwrap();
        let root = if version.contains('/') { "apis" } else { "api" };
        if self.is_namespaced() {
            format!("/{root}/{version}/namespaces/{namespace}/{plural}")
        } else {
            format!("/{root}/{version}/{plural}")
        }
    }

    /// An object to create.
    pub(super) fn object(self, run: &str, name: &str, held: bool, value: usize) -> Value {
        let mut object = self.spec(value);
        object["metadata"] = json!({"name": name, "labels": {RUN_LABEL: run}});
        if held {
            object["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        match self {
            Self::Pods => object["spec"]["containers"] = json!([{"name": "main", "image": "nginx"}]),
            Self::Deployments => {
                object["spec"]["selector"] = json!({"matchLabels": {"app": name}});
                object["spec"]["template"] = json!({
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
                });
            }
            _ => {}
        }
        self.with_type(object)
    }

    /// A patch of the spec. Each value gives a different spec.
    pub(super) fn spec(self, value: usize) -> Value {
        match self {
            // Only a few fields of a pod's spec are mutable, and this one may only decrease.
            Self::Pods => json!({"spec": {"activeDeadlineSeconds": 1_000_000 - value}}),
            Self::ConfigMaps => json!({"data": {"value": format!("{value}\n<&> \u{1f980}")}}),
            Self::Deployments => json!({"spec": {"replicas": value}}),
            Self::Gadgets => json!({"spec": {"size": value, "tags": ["a", "b"], "nothing": null}}),
            Self::ClusterRoles => json!({
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [format!("verb-{value}")]}],
            }),
        }
    }

    /// A patch of the status.
    pub(super) fn status(self, value: usize) -> Value {
        match self {
            Self::Pods => json!({"status": {"message": format!("value {value}")}}),
            Self::Deployments => json!({"status": {"observedGeneration": value}}),
            _ => json!({"status": {"value": value}}),
        }
    }

    /// Adds the type, which items of a list lack.
    pub(super) fn with_type(self, mut object: Value) -> Value {
        object["apiVersion"] = self.api_version().into();
        object["kind"] = self.kind().into();
        object
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.gvr())
    }
}

/// The definition of [`Resource::Gadgets`].
pub(super) fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": open, "status": open}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.oracle.informer.test"},
        "spec": {
            "group": "oracle.informer.test",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}},
            }],
        },
    })
}
