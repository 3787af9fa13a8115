//! Roles and bindings as objects.

use serde_json::{Value, json};

use super::{Rule, Rules};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The names in the manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Name of each role and binding.
    pub role: String,
    /// Namespace and name of the ServiceAccount of the host.
    pub account: (String, String),
}

/// Returns a ClusterRole for the rules of all namespaces and a Role for each namespace with rules of its own, each with its
/// binding. Equal rules give equal objects in the same order.
#[must_use]
pub fn manifests(rules: &Rules, names: &Names) -> Vec<Value> {
    rules.scopes().flat_map(|(namespace, rules)| pair(namespace, &rules, names)).collect()
}

fn pair(namespace: Option<&str>, rules: &[Rule], names: &Names) -> [Value; 2] {
    let (role, binding) = match namespace {
        Some(_) => ("Role", "RoleBinding"),
        None => ("ClusterRole", "ClusterRoleBinding"),
    };
    let (account_namespace, account) = &names.account;
    [
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": role,
            "metadata": metadata(namespace, &names.role),
            "rules": rules.iter().map(rule).collect::<Vec<_>>(),
        }),
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": binding,
            "metadata": metadata(namespace, &names.role),
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": names.role},
            "subjects": [{"kind": "ServiceAccount", "namespace": account_namespace, "name": account}],
        }),
    ]
}

fn metadata(namespace: Option<&str>, name: &str) -> Value {
    match namespace {
        Some(namespace) => json!({"namespace": namespace, "name": name}),
        None => json!({"name": name}),
    }
}

fn rule(rule: &Rule) -> Value {
    let Rule { group, resource, name, verbs } = rule;
    match name {
        Some(name) => {
            json!({"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": verbs})
        }
        None => json!({"apiGroups": [group], "resources": [resource], "verbs": verbs}),
    }
}
