//! The objects of a rendered installation, and the files of `host/deploy`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use informer::{
    commands::rbac::{Names, Rules, manifests},
    config::{self, Components, Config},
};
use informer_tests::command_line::CommandLine;
use serde_json::Value;

/// Objects by kind and name.
#[derive(Debug)]
pub(crate) struct Manifests(Vec<Value>);

/// A file or folder of `host/deploy`.
pub(crate) fn deployed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/deploy").join(name)
}

pub(crate) fn text(name: &str) -> String {
    let path = deployed(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads a configuration as the host does.
pub(crate) fn configuration(path: &Path) -> Config {
    config::load(path, Components::Unseen).unwrap_or_else(|error| panic!("{error}"))
}

/// What `informer rbac --service-account NAMESPACE/informer` prints for the configuration.
pub(crate) fn printed_roles(path: &Path, namespace: &str) -> Vec<Value> {
    let account = (namespace.to_owned(), "informer".to_owned());
    manifests(&Rules::of(&configuration(path)), &Names { role: "informer".to_owned(), account })
}

/// The objects that `helm template` prints for a release `informer` in the namespace `informer`.
pub(crate) async fn chart(helm: &CommandLine, values: &[&str]) -> Manifests {
    let chart = deployed("helm/informer");
    let mut arguments = vec!["template", "informer", chart.to_str().unwrap(), "--namespace=informer"];
    arguments.extend(values);
    Manifests::parse(&helm.prints(&arguments).await)
}

/// The objects that `kubectl kustomize` prints for an overlay.
pub(crate) async fn overlay(kubectl: &CommandLine, name: &str) -> Manifests {
    let folder = deployed("kustomize/overlays").join(name);
    Manifests::parse(&kubectl.prints(&["kustomize", folder.to_str().unwrap()]).await)
}

// === impl Manifests ===

impl Manifests {
    pub(crate) fn parse(yaml: &str) -> Self {
        let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
        Self(documents.into_iter().filter(|document| !document.is_null()).collect())
    }

    /// The only object of a kind.
    pub(crate) fn the(&self, kind: &str) -> &Value {
        let found = self.all(kind);
        assert_eq!(found.len(), 1, "{kind} in {:?}", self.kinds());
        found[0]
    }

    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|object| object["kind"] == kind).collect()
    }

    /// The kinds of all objects in alphabetical order.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.0.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        kinds
    }

    /// The specification of the pod of the Deployment.
    pub(crate) fn pod(&self) -> &Value {
        &self.the("Deployment")["spec"]["template"]["spec"]
    }

    /// The only container of the pod.
    pub(crate) fn container(&self) -> &Value {
        let containers = self.pod()["containers"].as_array().unwrap();
        assert_eq!(containers.len(), 1, "{containers:?}");
        &containers[0]
    }

    /// The text of informer.toml.
    pub(crate) fn configuration(&self) -> &str {
        self.the("ConfigMap")["data"]["informer.toml"].as_str().unwrap()
    }

    /// Roles and bindings of all kinds, with neither labels nor names: namespace, rules, kind of the bound role, subjects.
    pub(crate) fn permissions(&self) -> Vec<Value> {
        permissions(&self.0)
    }
}

/// See [`Manifests::permissions`].
pub(crate) fn permissions(objects: &[Value]) -> Vec<Value> {
    let kinds = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    let is_one = |object: &&Value| object["kind"].as_str().is_some_and(|kind| kinds.contains(&kind));
    let part = |object: &Value| {
        serde_json::json!({
            "kind": object["kind"], "namespace": object["metadata"]["namespace"], "rules": object["rules"],
            "role": object["roleRef"]["kind"], "subjects": object["subjects"],
        })
    };
    let mut found: Vec<Value> = objects.iter().filter(is_one).map(part).collect();
    found.sort_by_key(ToString::to_string);
    found
}

/// Every binding binds a role of the same objects.
pub(crate) fn assert_bindings_resolve(manifests: &Manifests) {
    for (binding, role) in [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")] {
        for binding in manifests.all(binding) {
            let bound = |object: &&Value| {
                object["metadata"]["name"] == binding["roleRef"]["name"]
                    && object["metadata"]["namespace"] == binding["metadata"]["namespace"]
            };
            assert_eq!(manifests.all(role).into_iter().filter(bound).count(), 1, "{binding}");
        }
    }
}
