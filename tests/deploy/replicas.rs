//! Several pods: one of them leads.

use std::{fs, path::Path};

use informer_tests::command_line::CommandLine;
use serde_json::{Value, json};

use crate::{
    chart::{helm, refused},
    manifests::{assert_bindings_resolve, chart, configuration, permissions, printed_roles, text},
    own_files::{CONFIGURATION, config, manifest},
};

/// Writes the roles that `informer rbac` prints for a configuration, and returns them with the value that names them.
fn roles(helm: &CommandLine, text: &str) -> (Vec<Value>, String) {
    let file = helm.home().join("printed.toml");
    fs::write(&file, text).unwrap();
    let printed = printed_roles(&file, "informer");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": printed});
    let value = manifest(helm, &list.to_string());
    (printed, value)
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_configurations_of_the_chart_get_a_lease_and_its_role_if_there_are_several_pods() {
    let helm = helm().await;
    for more in ["--set=readyMade=null", "--set=readyMade={janitor}"] {
        let manifests = chart(&helm, &["--set=replicas=3", more]).await;

        let file = helm.home().join("informer.toml");
        let janitor = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/janitor/informer.toml");
        let included = ("/usr/share/informer/plugins/janitor.toml", janitor.to_str().unwrap());
        fs::write(&file, manifests.configuration().replace(included.0, included.1)).unwrap();
        let lease = configuration(&file).host.lease.map(|lease| lease.to_string());
        assert_eq!(lease.as_deref(), Some("informer/informer"), "{more}");
        assert_eq!(manifests.permissions(), permissions(&printed_roles(&file, "informer")), "{more}");
        assert_bindings_resolve(&manifests);
    }
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn several_pods_are_replaced_one_by_one_and_spread_over_nodes_and_zones() {
    let helm = helm().await;

    let manifests = chart(&helm, &["--set=replicas=3"]).await;

    let deployment = &manifests.the("Deployment")["spec"];
    assert_eq!(deployment["replicas"], 3);
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    assert_eq!(deployment["strategy"], strategy);
    let spread = manifests.pod()["topologySpreadConstraints"].as_array().unwrap();
    let over: Vec<&Value> = spread.iter().map(|constraint| &constraint["topologyKey"]).collect();
    assert_eq!(over, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
    for constraint in spread {
        assert_eq!(constraint["labelSelector"], deployment["selector"]);
        assert_eq!(constraint["whenUnsatisfiable"], "ScheduleAnyway", "a cluster of one node runs all pods");
    }
    let budget = &manifests.the("PodDisruptionBudget")["spec"];
    assert_eq!((&budget["maxUnavailable"], &budget["selector"]), (&json!(1), &deployment["selector"]));
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn one_pod_or_none_needs_no_lease() {
    let helm = helm().await;
    let one = chart(&helm, &[]).await;
    assert_eq!(one.the("Deployment")["spec"]["replicas"], 1);

    let none = chart(&helm, &["--set=replicas=0,state.persistent=true"]).await;

    let none = &none.the("Deployment")["spec"];
    assert_eq!((&none["replicas"], &none["strategy"]), (&json!(0), &json!({"type": "Recreate"})));
    let lease = config(&helm, CONFIGURATION);
    let (printed, roles) = roles(&helm, CONFIGURATION);
    let manifests = chart(&helm, &[&lease, &roles, "--set=state.persistent=true"]).await;
    assert_eq!(manifests.the("Deployment")["spec"]["strategy"], json!({"type": "Recreate"}));
    assert_eq!(manifests.pod()["topologySpreadConstraints"], Value::Null);
    assert_eq!(manifests.permissions(), permissions(&printed), "one pod may have a lease too");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_role_for_the_lease_of_a_configuration_exists_once_whether_it_was_printed_or_not() {
    let helm = helm().await;
    let lease = config(&helm, CONFIGURATION);
    let (printed, with) = roles(&helm, CONFIGURATION);

    let manifests = chart(&helm, &[&lease, &with, "--set=replicas=2"]).await;
    assert_eq!(manifests.permissions(), permissions(&printed));
    assert_bindings_resolve(&manifests);

    let (_, without) = roles(&helm, &CONFIGURATION.replace("lease =", "# lease ="));
    let manifests = chart(&helm, &[&lease, &without, "--set=replicas=2"]).await;
    assert_eq!(manifests.permissions(), permissions(&printed));
    assert_bindings_resolve(&manifests);
    assert_eq!(manifests.the("Role")["metadata"]["name"], "informer-informer-lease");

    let host = config(&helm, "[host]\nhealth = \"0.0.0.0:8081\"\nlease = 'leases/host' # shared\n");
    let manifests = chart(&helm, &[&host, "--set=readyMade={janitor},replicas=2"]).await;
    assert_bindings_resolve(&manifests);
    let of_lease = |object: &&Value| object["metadata"]["namespace"] == "leases";
    let printed: Vec<Value> = printed.iter().filter(of_lease).cloned().collect();
    let kinds = ["Role", "RoleBinding"].into_iter();
    let roles: Vec<Value> = kinds.flat_map(|kind| manifests.all(kind)).cloned().collect();
    assert_eq!(permissions(&roles), permissions(&printed));
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn several_pods_without_a_lease_or_with_one_volume_are_refused_with_the_remedy() {
    let helm = helm().await;
    let none = CONFIGURATION.replace("lease =", "# lease =");
    let of_plugin = format!("{none}  [plugin.config]\n  lease = \"a/b\"\n");
    let other_key = none.replace("# lease =", "lease-duration = \"15s\" # lease =");
    for text in [&none, &of_plugin, &other_key] {
        let config = config(&helm, text);

        let problem = refused(&helm, &[&config, "--set=replicas=2,rbac.create=false"]).await;

        assert!(problem.contains("write `lease = \"default/informer\"` under [host]"), "{text}: {problem}");
    }
    for volume in ["state.persistent=true", "state.existingClaim=kept"] {
        let problem = refused(&helm, &["--set=replicas=2", "--set", volume]).await;

        assert!(problem.contains("only one host at a time can open the state"), "{volume}: {problem}");
    }
    for value in ["replicas=-1", "replicas=two"] {
        let problem = refused(&helm, &["--set", value]).await;

        assert!(problem.contains("/replicas"), "{value}: {problem}");
    }
}

/// The chart writes the lease behind this line.
#[test]
fn the_configurations_of_the_chart_have_one_line_for_the_section_of_the_host() {
    for file in ["informer.toml", "ready-made/informer.toml"] {
        let own = text(&format!("helm/informer/files/{file}"));

        assert_eq!(own.matches("[host]\n").count(), 1, "{file}");
    }
}
