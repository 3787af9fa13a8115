//! What kubectl makes of the overlays.

use informer_tests::command_line::CommandLine;
use serde_json::{Value, json};

use crate::manifests::{
    Manifests, assert_bindings_resolve, chart, deployed, overlay, permissions, printed_roles, text,
};

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_default_overlay_installs_the_pod_of_the_chart() {
    let kubectl = CommandLine::kubectl("").await;
    let overlay = overlay(&kubectl, "default").await;
    let chart = chart(&CommandLine::helm("").await, &[]).await;

    assert_eq!(overlay.pod(), chart.pod());
    let spec =
        |kind: &str, key: &str| [&overlay, &chart].map(|manifests| manifests.the(kind)["spec"][key].clone());
    for (kind, key) in [
        ("Deployment", "strategy"),
        ("Deployment", "replicas"),
        ("Service", "ports"),
        ("Service", "publishNotReadyAddresses"),
        ("NetworkPolicy", "ingress"),
        ("NetworkPolicy", "egress"),
        ("NetworkPolicy", "policyTypes"),
        ("PodDisruptionBudget", "maxUnavailable"),
        ("PodDisruptionBudget", "unhealthyPodEvictionPolicy"),
    ] {
        let [ours, charts] = spec(kind, key);
        assert_ne!(ours, Value::Null, "{kind} has no {key}");
        assert_eq!(ours, charts, "{kind}: {key}");
    }
    assert_eq!(overlay.permissions(), chart.permissions());
    assert_eq!(overlay.configuration().trim_end(), chart.configuration().trim_end());
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn an_overlay_brings_namespace_configuration_roles_and_a_claim_of_its_own() {
    let kubectl = CommandLine::kubectl("").await;

    let manifests = overlay(&kubectl, "example").await;

    let file = deployed("kustomize/overlays/example/informer.toml");
    assert_eq!(manifests.permissions(), permissions(&printed_roles(&file, "example")));
    assert_bindings_resolve(&manifests);
    assert_eq!(manifests.configuration(), text("kustomize/overlays/example/informer.toml"));
    assert_eq!(manifests.the("Deployment")["metadata"]["namespace"], "example");
    assert_eq!(manifests.the("Namespace")["metadata"]["name"], "example");
    let claim = json!({"name": "state", "persistentVolumeClaim": {"claimName": "informer"}});
    assert!(manifests.pod()["volumes"].as_array().unwrap().contains(&claim), "{manifests:?}");
    assert_eq!(manifests.container()["image"], "registry.example.com/informer:0.1.0");
}

/// The base with one component.
async fn with_component(kubectl: &CommandLine, name: &str) -> Manifests {
    // kustomize takes relative paths only.
    let folder = |name: &str| {
        let up = "../".repeat(kubectl.home().components().count() - 1);
        let path = deployed("kustomize").join(name).canonicalize().unwrap();
        json!(format!("{up}{}", path.strip_prefix("/").unwrap().display()))
    };
    let own = json!({"resources": [folder("base")], "components": [folder(&format!("components/{name}"))]});
    std::fs::write(kubectl.home().join("kustomization.yaml"), own.to_string()).unwrap();

    let home = kubectl.home().to_str().unwrap();
    Manifests::parse(&kubectl.prints(&["kustomize", home]).await)
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_component_for_several_pods_makes_the_deployment_that_the_chart_makes() {
    let component = with_component(&CommandLine::kubectl("").await, "election").await;

    let chart = chart(&CommandLine::helm("").await, &["--set=replicas=2"]).await;

    let [own, charts] = [&component, &chart].map(|manifests| manifests.the("Deployment")["spec"].clone());
    assert_eq!((&own["replicas"], &own["strategy"]), (&json!(2), &charts["strategy"]));
    let spread = |manifests: &Manifests| {
        let mut spread = manifests.pod()["topologySpreadConstraints"].as_array().unwrap().clone();
        for constraint in &mut spread {
            let selector = constraint["labelSelector"].take();
            assert_eq!(selector, manifests.the("Deployment")["spec"]["selector"]);
        }
        spread
    };
    assert_eq!(spread(&component), spread(&chart));
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_component_for_openshift_leaves_the_ids_to_the_namespace_as_the_chart_does_without_them() {
    let component = with_component(&CommandLine::kubectl("").await, "openshift").await;

    let ids = "--set=podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null,podSecurityContext.fsGroup=null";
    let chart = chart(&CommandLine::helm("").await, &[ids]).await;
    assert_eq!(component.pod()["securityContext"], chart.pod()["securityContext"]);
    assert_eq!(component.container()["securityContext"], chart.container()["securityContext"]);
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_component_for_telemetry_opens_the_ports_of_otlp() {
    let printed = with_component(&CommandLine::kubectl("").await, "telemetry").await;

    let egress = printed.the("NetworkPolicy")["spec"]["egress"].as_array().unwrap().clone();
    let base: Value = serde_saphyr::from_str(&text("kustomize/base/networkpolicy.yaml")).unwrap();
    let before = base["spec"]["egress"].as_array().unwrap();
    assert_eq!(egress[..before.len()], before[..]);
    assert_eq!(egress[before.len()..], [json!({"ports": [{"port": 4317}, {"port": 4318}]})]);
}
