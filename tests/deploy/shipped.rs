//! The files of `host/deploy` belong together. These tests need only Rust.

use std::{fs, path::Path};

use informer::config;
use serde_json::Value;

use crate::manifests::{configuration, deployed, permissions, printed_roles, text};

/// The folders with an informer.toml and its roles, and the namespace of the ServiceAccount.
const INSTALLATIONS: [(&str, &str); 3] = [
    ("helm/informer/files", "informer"),
    ("kustomize/overlays/default", "informer"),
    ("kustomize/overlays/example", "example"),
];

#[test]
fn the_shipped_roles_are_those_that_informer_rbac_prints_for_the_shipped_configuration() {
    for (folder, namespace) in INSTALLATIONS {
        let shipped: Vec<Value> = serde_saphyr::from_multiple(&text(&format!("{folder}/rbac.yaml"))).unwrap();
        let printed = printed_roles(&deployed(folder).join("informer.toml"), namespace);

        assert_eq!(
            permissions(&shipped),
            permissions(&printed),
            "run `informer rbac --service-account {namespace}/informer > rbac.yaml` in host/deploy/{folder}"
        );
    }
}

/// The ready-made plugins that the chart runs by name.
const READY_MADE: [&str; 3] = ["janitor", "reloader", "replicator"];

#[test]
fn the_roles_of_the_ready_made_plugins_are_those_that_informer_rbac_prints_for_their_configurations() {
    let schema: Value = serde_json::from_str(&text("helm/informer/values.schema.json")).unwrap();
    assert_eq!(schema["properties"]["readyMade"]["items"]["enum"], serde_json::json!(READY_MADE));
    for name in READY_MADE {
        let file = format!("helm/informer/files/ready-made/{name}.rbac.yaml");
        let shipped: Vec<Value> = serde_saphyr::from_multiple(&text(&file)).unwrap();
        let configuration =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../plugins/{name}/informer.toml"));
        let printed = printed_roles(&configuration, "informer");

        assert_eq!(
            permissions(&shipped),
            permissions(&printed),
            "run `informer rbac --config plugins/{name}/informer.toml --service-account informer/informer > host/deploy/{file}`"
        );
    }
}

/// The chart changes these copies if the plugins shall run in some namespaces only.
#[test]
fn the_chart_ships_the_configurations_of_the_ready_made_plugins_that_run_in_some_namespaces() {
    for name in ["janitor", "reloader"] {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../plugins/{name}/informer.toml"));
        let file = format!("helm/informer/files/ready-made/{name}.toml");

        assert_eq!(
            fs::read_to_string(own).unwrap(),
            text(&file),
            "copy plugins/{name}/informer.toml over {file}"
        );
    }
}

#[test]
fn chart_and_overlay_ship_the_same_configuration_and_roles() {
    for file in ["informer.toml", "rbac.yaml"] {
        let (chart, overlay) = (
            text(&format!("helm/informer/files/{file}")),
            text(&format!("kustomize/overlays/default/{file}")),
        );

        assert_eq!(chart, overlay, "copy one {file} over the other");
    }
}

#[test]
fn the_shipped_definitions_are_those_that_informer_crd_prints() {
    for file in ["helm/informer/files/definitions.yaml", "kustomize/components/tenancy/definitions.yaml"] {
        let shipped: Vec<Value> = serde_saphyr::from_multiple(&text(file)).unwrap();

        assert_eq!(shipped, config::definitions(), "run `informer crd > host/deploy/{file}`");
    }
    let [chart, kustomize] =
        ["helm/informer/files/editor.yaml", "kustomize/components/tenancy/editor.yaml"].map(text);
    assert_eq!(chart, kustomize);
}

#[test]
fn the_chart_ships_the_alert_rules_and_the_dashboard() {
    for file in ["alerts.yaml", "dashboard.json"] {
        let (own, chart) =
            (text(&format!("monitoring/{file}")), text(&format!("helm/informer/files/{file}")));

        assert_eq!(own, chart, "copy host/deploy/monitoring/{file} over that of the chart");
    }
}

/// The probes of both address this port.
#[test]
fn the_shipped_configurations_serve_probes_to_the_kubelet() {
    for (folder, _) in INSTALLATIONS {
        let host = configuration(&deployed(folder).join("informer.toml")).host;

        assert_eq!(
            host.health.map(|address| address.to_string()).as_deref(),
            Some("0.0.0.0:8081"),
            "{folder}"
        );
    }
}

/// The limit of the container is 512 MiB, and the host itself needs the rest.
#[test]
fn caches_guests_and_a_compilation_fit_into_the_memory_of_the_container() {
    for (folder, _) in INSTALLATIONS {
        let host = configuration(&deployed(folder).join("informer.toml")).host;
        let guests = host.guest_memory.unwrap();
        let caches = host.cache_memory.unwrap();

        assert!(caches + guests + host.compile_memory.unwrap() <= (512 - 64) << 20, "{folder}");
        assert!(host.shutdown_timeout.as_secs() < 30, "the grace period of the pod is 30 s");
    }
}

/// The host answers no probe before it has checked its whole state. Without a startup probe, the liveness probe would end the host
/// during each check of a large state.
#[test]
fn the_liveness_probe_does_not_count_while_the_host_checks_its_state() {
    let values: Value = serde_saphyr::from_str(&text("helm/informer/values.yaml")).unwrap();
    let base: Value = serde_saphyr::from_str(&text("kustomize/base/deployment.yaml")).unwrap();
    let container = &base["spec"]["template"]["spec"]["containers"][0];
    for probe in [&values["startupProbe"], &container["startupProbe"]] {
        let number = |key: &str| probe[key].as_u64().unwrap_or_default();

        assert!(number("periodSeconds") * number("failureThreshold") >= 600, "{probe}");
    }
}

#[test]
fn the_versions_of_chart_and_image_are_that_of_the_workspace() {
    let version = env!("CARGO_PKG_VERSION");
    let chart = text("helm/informer/Chart.yaml");

    assert!(chart.contains(&format!("\nversion: {version}\n")), "{chart}");
    assert!(chart.contains(&format!("\nappVersion: {version}\n")), "{chart}");
    for overlay in ["default", "example"] {
        let kustomization = text(&format!("kustomize/overlays/{overlay}/kustomization.yaml"));
        assert!(kustomization.contains(&format!("newTag: {version}\n")), "{kustomization}");
    }
}

#[test]
fn every_value_of_the_chart_is_in_its_schema() {
    let values: Value = serde_saphyr::from_str(&text("helm/informer/values.yaml")).unwrap();
    let schema: Value = serde_json::from_str(&text("helm/informer/values.schema.json")).unwrap();

    let mut missing = Vec::new();
    compare(&values, &schema, Path::new("values"), &mut missing);

    assert_eq!(missing, Vec::<String>::new());
}

/// Notes values without a property, and properties without a value if there is a closed set of them.
fn compare(values: &Value, schema: &Value, at: &Path, missing: &mut Vec<String>) {
    let (Some(values), Some(properties)) = (values.as_object(), schema["properties"].as_object()) else {
        return;
    };
    for (name, value) in values {
        match properties.get(name) {
            Some(property) => compare(value, property, &at.join(name), missing),
            None => missing.push(format!("{} is not in the schema", at.join(name).display())),
        }
    }
    // The parts of probes and resources have defaults of Kubernetes. `global` is Helm's, and `enabled` that of a chart that depends on
    // this one (`condition: informer.enabled`).
    let open = ["global", "enabled", "startupProbe", "livenessProbe", "readinessProbe", "resources"];
    for name in properties.keys().filter(|name| !values.contains_key(*name)) {
        let optional = at.components().any(|part| open.iter().any(|open| part.as_os_str() == *open));
        if !optional && !open.contains(&name.as_str()) {
            missing.push(format!("{} has no default in values.yaml", at.join(name).display()));
        }
    }
}
