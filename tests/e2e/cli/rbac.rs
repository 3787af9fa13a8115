//! The command `informer rbac`.

use std::fs;

use serde_json::Value;

use super::binary::informer;

const CONFIGURATION: &str = "\
[[watch]]
gvr = \"v1/pods\"
namespaces = [\"shop\"]

[[plugin]]
name = \"some\"
source = \"some.wasm\"

  [[plugin.on]]
  watch = \"v1/pods\"

  [plugin.grant]
  write = [\"delete v1/pods @shop\"]
";

const ROLES: &str = "\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: reaper
  namespace: shop
rules:
- apiGroups:
  - \"\"
  resources:
  - pods
  verbs:
  - list
  - watch
  - delete
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: reaper
  namespace: shop
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: reaper
subjects:
- kind: ServiceAccount
  name: host
  namespace: apps
";

#[tokio::test]
async fn rbac_prints_the_roles_as_yaml_and_as_json() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    fs::write(&path, CONFIGURATION).unwrap();
    let arguments = |output: &'static str| {
        [
            "rbac",
            "--config",
            path.to_str().unwrap(),
            "--name",
            "reaper",
            "--service-account",
            "apps/host",
            "--output",
            output,
        ]
        .map(str::to_owned)
    };

    for output in ["yaml", "text"] {
        let arguments = arguments(output);
        let printed = informer(&arguments.each_ref().map(String::as_str)).await;
        assert_eq!((printed.status, printed.stdout.as_str(), printed.stderr.as_str()), (Some(0), ROLES, ""));
    }
    let arguments = arguments("json");
    let printed = informer(&arguments.each_ref().map(String::as_str)).await;
    let list: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(list["kind"], "List");
    assert_eq!(list["items"][0]["rules"][0]["verbs"], serde_json::json!(["list", "watch", "delete"]));
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn rbac_refuses_a_file_that_is_not_a_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    fs::write(&path, "[[watch]]\ngvr = \"podz\"\n").unwrap();

    let refused = informer(&["rbac", "--config", path.to_str().unwrap()]).await;

    assert_eq!((refused.status, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("`podz` is not a resource"), "{}", refused.stderr);
    let wrong = informer(&["rbac", "--service-account", "host"]).await;
    assert_eq!(wrong.status, Some(2));
    assert!(wrong.stderr.contains("write namespace/name"), "{}", wrong.stderr);
}
