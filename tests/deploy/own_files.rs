//! The configuration and the roles that an operator brings along.

use std::fs;

use informer_tests::command_line::CommandLine;
use serde_json::{Value, json};

use crate::{
    chart::helm,
    manifests::{Manifests, assert_bindings_resolve, chart, deployed, permissions, printed_roles, text},
};

/// A configuration with roles in a namespace and of the whole cluster. Its lease is in a namespace of its own.
pub(crate) const CONFIGURATION: &str = r#"
[host]
health = "0.0.0.0:8081"
lease = "leases/host"

[[watch]]
gvr = "v1/configmaps"

[[plugin]]
name = "reaper"
source = "reaper.wasm"
  [[plugin.on]]
  watch = "v1/configmaps"
"#;

/// Writes a configuration into the home directory of Helm, and returns the value that names the file.
pub(crate) fn config(helm: &CommandLine, text: &str) -> String {
    written(helm, "config", "informer.toml", text)
}

/// Writes roles into the home directory of Helm, and returns the value that names the file.
pub(crate) fn manifest(helm: &CommandLine, roles: &str) -> String {
    written(helm, "rbac.manifest", "rbac.yaml", roles)
}

fn written(helm: &CommandLine, value: &str, name: &str, text: &str) -> String {
    let file = helm.home().join(name);
    fs::write(&file, text).unwrap();
    format!("--set-file={value}={}", file.display())
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn every_role_counts_whatever_ends_the_lines_and_follows_a_separator() {
    let helm = helm().await;
    let config = config(&helm, CONFIGURATION);
    let printed = printed_roles(&helm.home().join("informer.toml"), "informer");
    assert_eq!(printed.len(), 4, "the roles and bindings of the watch and of the lease");
    for separator in ["---\n", "---\r\n", "--- # the next one\n", "---   \r\n"] {
        let documents: Vec<String> = printed.iter().map(|role| format!("{separator}{role}\n")).collect();

        let roles = manifest(&helm, &documents.concat());
        let manifests = chart(&helm, &[&config, &roles]).await;

        assert_eq!(manifests.permissions(), permissions(&printed), "{separator:?}");
    }
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn several_outputs_of_informer_rbac_in_one_file_become_one_role_of_each_name() {
    let helm = helm().await;
    let outputs = ["reloader", "janitor"]
        .map(|name| text(&format!("helm/informer/files/ready-made/{name}.rbac.yaml")))
        .concat();
    let printed = Manifests::parse(&outputs);
    let rules: Vec<&Value> =
        printed.all("ClusterRole").into_iter().flat_map(|role| role["rules"].as_array().unwrap()).collect();

    let (config, roles) = (config(&helm, CONFIGURATION), manifest(&helm, &outputs));
    let manifests = chart(&helm, &[&config, &roles]).await;

    assert_eq!(manifests.the("ClusterRole")["rules"], json!(rules));
    assert_eq!(manifests.all("ClusterRoleBinding").len(), 1);
    assert_bindings_resolve(&manifests);
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_notes_name_each_missing_size_if_a_configuration_sets_another_one() {
    let (helm, own) = (helm().await, deployed("helm/informer"));
    let sizes = "[host]\ncache-memory = \"160MiB\"\n guest-memory='96MiB'\n";
    let one = CONFIGURATION.replace("[host]\n", "[host]\ncache-memory = \"160MiB\"\n");
    let two = CONFIGURATION.replace("[host]\n", sizes);
    let all = CONFIGURATION.replace("[host]\n", &format!("{sizes}compile-memory = \"192MiB\"\n"));
    let install =
        ["install", "informer", own.to_str().unwrap(), "--dry-run=client", "--set=rbac.create=false"];
    for (configuration, limit, named) in [
        (CONFIGURATION, "512Mi", None),
        (one.as_str(), "512Mi", Some("and not guest-memory, compile-memory.")),
        (two.as_str(), "512Mi", Some("and not compile-memory.")),
        (all.as_str(), "512Mi", None),
        (two.as_str(), "null", None),
    ] {
        let config = config(&helm, configuration);
        let limit = format!("--set=resources.limits.memory={limit}");

        let notes = helm.prints(&[&install[..], &[config.as_str(), limit.as_str()]].concat()).await;

        match named {
            Some(named) => assert!(notes.contains(named) && notes.contains("512Mi"), "{notes}"),
            None => assert!(!notes.contains("sets some sizes"), "{limit}: {notes}"),
        }
    }

    let shipped = helm.prints(&install).await;
    assert!(!shipped.contains("sets some sizes"), "{shipped}");
}
