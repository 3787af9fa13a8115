//! What Helm makes of the chart.

use std::{collections::BTreeSet, fs, path::Path};

use informer_tests::command_line::CommandLine;
use serde_json::{Value, json};

use crate::manifests::{
    Manifests, assert_bindings_resolve, chart, configuration, deployed, permissions, printed_roles, text,
};

/// A configuration with roles in a namespace and of the whole cluster.
const CONFIGURATION: &str = r#"
[host]
health = "0.0.0.0:9000"

[[watch]]
gvr = "v1/configmaps"

[[watch]]
gvr = "v1/pods"
namespaces = ["shop"]

[[plugin]]
name = "reaper"
source = "reaper.wasm"
  [[plugin.on]]
  watch = "v1/configmaps"
  [[plugin.on]]
  watch = "v1/pods"
  [plugin.grant]
  write = ["delete v1/pods @shop"]
"#;

pub(crate) async fn helm() -> CommandLine {
    CommandLine::helm("").await
}

/// Runs `helm template` with these values, which must fail, and returns what it prints.
pub(crate) async fn refused(helm: &CommandLine, values: &[&str]) -> String {
    let chart = deployed("helm/informer");
    let mut arguments = vec!["template", "informer", chart.to_str().unwrap()];
    arguments.extend(values);
    helm.fails(&arguments).await
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_chart_passes_the_strict_lint() {
    let chart = deployed("helm/informer");

    let report = helm().await.prints(&["lint", "--strict", chart.to_str().unwrap()]).await;

    assert!(report.contains("1 chart(s) linted, 0 chart(s) failed"), "{report}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn without_values_the_chart_installs_the_example_with_its_roles() {
    let manifests = chart(&helm().await, &[]).await;

    assert_eq!(
        manifests.kinds(),
        [
            "ClusterRole",
            "ClusterRoleBinding",
            "ConfigMap",
            "Deployment",
            "NetworkPolicy",
            "PodDisruptionBudget",
            "Service",
            "ServiceAccount"
        ]
    );
    let shipped = deployed("helm/informer/files/informer.toml");
    assert_eq!(manifests.configuration().trim_end(), fs::read_to_string(&shipped).unwrap().trim_end());
    assert_eq!(manifests.permissions(), permissions(&printed_roles(&shipped, "informer")));
    assert_bindings_resolve(&manifests);
    assert_eq!(manifests.the("Deployment")["spec"]["strategy"], json!({"type": "Recreate"}));
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_pod_has_no_rights_on_its_node() {
    let manifests = chart(&helm().await, &[]).await;
    let (pod, container) = (manifests.pod(), manifests.container());

    assert_eq!(
        pod["securityContext"],
        json!({
            "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
            "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": {"type": "RuntimeDefault"},
        })
    );
    assert_eq!(
        container["securityContext"],
        json!({
            "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        })
    );
    for key in ["hostNetwork", "hostPID", "hostIPC"] {
        assert_eq!(pod[key], Value::Null);
    }

    let ids = "--set=podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null,podSecurityContext.fsGroup=null";
    let manifests = chart(&helm().await, &[ids]).await;
    let given = json!({
        "runAsNonRoot": true, "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": {"type": "RuntimeDefault"},
    });
    assert_eq!(
        manifests.pod()["securityContext"],
        given,
        "the namespace decides about the IDs, as on OpenShift"
    );
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_configuration_brings_its_roles_in_any_form_that_informer_rbac_prints() {
    let helm = helm().await;
    let (file, yaml, list) =
        (helm.home().join("informer.toml"), helm.home().join("rbac.yaml"), helm.home().join("rbac.json"));
    fs::write(&file, CONFIGURATION).unwrap();
    let printed = printed_roles(&file, "informer");
    let documents: Vec<String> = printed.iter().map(|role| format!("---\n{role}\n")).collect();
    fs::write(&yaml, documents.concat()).unwrap();
    fs::write(&list, json!({"apiVersion": "v1", "kind": "List", "items": printed}).to_string()).unwrap();
    let config = format!("--set-file=config={}", file.display());
    for roles in [&yaml, &list] {
        let roles = format!("--set-file=rbac.manifest={}", roles.display());

        let manifests = chart(&helm, &[&config, &roles, "--set=health.port=9000"]).await;

        assert_eq!(manifests.permissions(), permissions(&printed));
        assert_bindings_resolve(&manifests);
        assert_eq!(manifests.all("Role").len(), 1);
        assert_eq!(manifests.configuration().trim(), CONFIGURATION.trim());
        assert_eq!(manifests.container()["ports"], json!([{"name": "health", "containerPort": 9000}]));
        assert_eq!(manifests.the("Service")["spec"]["ports"][0]["port"], 9000);
    }
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_roles_of_a_plugin_with_a_service_account_of_its_own_are_bound_to_that_account() {
    let helm = helm().await;
    let (file, roles) = (helm.home().join("informer.toml"), helm.home().join("rbac.json"));
    let own = CONFIGURATION.replace(
        "source = \"reaper.wasm\"",
        "source = \"reaper.wasm\"\nas = \"system:serviceaccount:shop:reaper\"",
    );
    fs::write(&file, own.replace("write = [", "write = [\"patch v1/configmaps\", ")).unwrap();
    let printed = printed_roles(&file, "informer");
    fs::write(&roles, json!({"apiVersion": "v1", "kind": "List", "items": printed}).to_string()).unwrap();

    let arguments = [("config", &file), ("rbac.manifest", &roles)]
        .map(|(name, file)| format!("--set-file={name}={}", file.display()));
    let manifests =
        chart(&helm, &[&arguments[0], &arguments[1], "--set=health.port=9000", "--namespace=informer"]).await;

    assert_eq!(manifests.permissions(), permissions(&printed));
    assert_bindings_resolve(&manifests);
    let mut names: Vec<&str> =
        manifests.all("ClusterRole").iter().map(|role| role["metadata"]["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["informer-informer", "informer-informer:shop:reaper"]);

    // A name of this form alone binds nothing to an account.
    let mut renamed = printed.clone();
    for object in &mut renamed {
        for pointer in ["/metadata/name", "/roleRef/name"] {
            if let Some(name) = object.pointer_mut(pointer).filter(|name| **name == "informer") {
                *name = json!("a:b:c");
            }
        }
    }
    fs::write(&roles, json!({"apiVersion": "v1", "kind": "List", "items": renamed}).to_string()).unwrap();
    let manifests =
        chart(&helm, &[&arguments[0], &arguments[1], "--set=health.port=9000", "--namespace=informer"]).await;
    assert_eq!(manifests.permissions(), permissions(&printed));
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_file_that_only_sets_up_the_host_goes_with_ready_made_plugins() {
    let helm = helm().await;
    let file = helm.home().join("host.toml");
    // The first line decides about the indentation of a block of YAML.
    fs::write(&file, "  [host]\n  health = \"0.0.0.0:8081\"\n  cache-memory = \"200MiB\"\n").unwrap();
    let config = format!("--set-file=config={}", file.display());

    let manifests = chart(&helm, &["--set=readyMade={janitor}", &config]).await;

    let text = manifests.configuration();
    assert!(text.starts_with("include = [\"/usr/share/informer/plugins/janitor.toml\"]\n"), "{text}");
    assert!(text.contains("cache-memory = \"200MiB\""), "{text}");
    let janitor = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/janitor/informer.toml");
    assert_eq!(manifests.permissions(), permissions(&printed_roles(&janitor, "informer")));
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_change_of_what_the_host_reads_at_its_start_replaces_the_pod_and_no_other_change_does() {
    let helm = helm().await;
    let file = helm.home().join("informer.toml");
    let annotation = async |text: &str| {
        fs::write(&file, text.replace("9000", "8081")).unwrap();
        let config = format!("--set-file=config={}", file.display());
        let manifests = chart(&helm, &[&config, "--set=rbac.create=false"]).await;
        manifests.the("Deployment")["spec"]["template"]["metadata"]["annotations"].clone()
    };
    let before = annotation(CONFIGURATION).await;

    let with_watch = annotation(&format!("{CONFIGURATION}\n[[watch]]\ngvr = \"v1/secrets\"\n")).await;
    let with_memory = annotation(&CONFIGURATION.replace("[host]", "[host]\ncache-memory = \"200MiB\"")).await;
    let indented = CONFIGURATION.replace("[host]", "  [host]\n  cache-memory = \"200MiB\"\n  # a comment\n");
    let indented = annotation(&indented.replace("[[watch]]", "  [[watch]]")).await;
    let host_alone = "[host]\nhealth = \"0.0.0.0:9000\"";
    let alone = annotation(host_alone).await;
    let appended = annotation(&format!("{host_alone}\n\n# more\n  [[watch]]\ngvr = \"v1/secrets\"\n")).await;
    let with_telemetry =
        annotation(&format!("{CONFIGURATION}\n[telemetry]\nendpoint = \"http://x:1\"\n")).await;

    assert_eq!(with_watch, before);
    assert_ne!(with_memory, before);
    assert_ne!(indented, before);
    assert_eq!(appended, alone);
    assert_ne!(with_telemetry, before);
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_plugin_is_appended_to_the_configuration_with_its_component_beside_it() {
    let helm = helm().await;
    let values = helm.home().join("values.yaml");
    let toml = "[[plugin]]\nname = \"hello\"\nsource = \"hello.wasm\"\n  [[plugin.on]]\n  watch = \"apps/v1/deployments\"\n";
    fs::write(&values, json!({"plugins": {"hello": {"component": "AGFzbQ==\n", "toml": toml}}}).to_string())
        .unwrap();
    let roles = deployed("helm/informer/files/rbac.yaml");
    let roles = format!("--set-file=rbac.manifest={}", roles.display());

    let manifests = chart(&helm, &["--values", values.to_str().unwrap(), &roles]).await;

    assert_eq!(manifests.the("ConfigMap")["binaryData"], json!({"hello.wasm": "AGFzbQ=="}));
    let file = helm.home().join("informer.toml");
    fs::write(&file, manifests.configuration()).unwrap();
    let plugins: Vec<_> = configuration(&file).plugins.into_iter().map(|plugin| plugin.name).collect();
    assert_eq!(plugins.len(), 2, "{plugins:?}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn ready_made_plugins_run_by_name_with_their_roles() {
    let helm = helm().await;

    let manifests = chart(&helm, &["--set=readyMade={reloader,replicator}"]).await;

    let text = manifests.configuration();
    let include = "include = [\"/usr/share/informer/plugins/reloader.toml\",\"/usr/share/informer/plugins/replicator.toml\"]\n";
    assert!(text.starts_with(include), "{text}");
    assert!(text.contains("health = \"0.0.0.0:8081\"") && !text.contains("[[plugin]]"), "{text}");
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
    let printed = ["reloader", "replicator"]
        .map(|name| printed_roles(&plugins.join(name).join("informer.toml"), "informer"));
    assert_eq!(manifests.permissions(), permissions(&printed.concat()));
    assert_bindings_resolve(&manifests);
    let names: Vec<&str> =
        manifests.all("ClusterRole").iter().map(|role| role["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["informer-informer-reloader", "informer-informer-replicator"]);

    let file = helm.home().join("own.toml");
    fs::write(&file, format!("include = [\"a.toml\"]\n{CONFIGURATION}")).unwrap();
    let config = format!("--set-file=config={}", file.display());
    let error = refused(
        &helm,
        &["--set=readyMade={reloader}", &config, "--set=health.port=9000", "--set=rbac.create=false"],
    )
    .await;
    assert!(error.contains("`config` has an `include` of its own"), "{error}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn ready_made_plugins_of_some_namespaces_have_roles_there_only() {
    let helm = helm().await;
    let written = |manifests: &Manifests| {
        for (file, text) in manifests.the("ConfigMap")["data"].as_object().unwrap() {
            fs::write(helm.home().join(file), text.as_str().unwrap()).unwrap();
        }
        helm.home().join("informer.toml")
    };
    let names =
        |file: &Path| configuration(file).plugins.into_iter().map(|plugin| plugin.name).collect::<Vec<_>>();
    for name in ["janitor", "reloader"] {
        let values = format!("--set=readyMade={{{name}}},readyMadeNamespaces={{shop,cellar}}");

        let manifests = chart(&helm, &[&values]).await;

        let file = written(&manifests);
        assert_eq!(manifests.permissions(), permissions(&printed_roles(&file, "informer")), "{name}");
        assert_eq!(manifests.all("ClusterRole"), Vec::<&Value>::new(), "{name}");
        assert_bindings_resolve(&manifests);
        assert_eq!(names(&file), [name]);
        let source = format!("source = \"/usr/share/informer/plugins/{name}.wasm\"\n");
        assert!(fs::read_to_string(helm.home().join(format!("{name}.toml"))).unwrap().contains(&source));
    }

    // They share the watches of ConfigMaps and Deployments.
    let both = chart(&helm, &["--set=readyMade={janitor,reloader},readyMadeNamespaces={shop}"]).await;
    assert_eq!(names(&written(&both)), ["janitor", "reloader"]);

    // The reloader has a Role in `default` in any case.
    let manifests = chart(&helm, &["--set=readyMade={reloader},readyMadeNamespaces={default}"]).await;
    let rules = manifests.the("Role")["rules"].to_string();
    assert!(rules.contains("endpointslices") && rules.contains("daemonsets"), "{rules}");

    let replicator = refused(&helm, &["--set=readyMade={replicator},readyMadeNamespaces={shop}"]).await;
    assert!(replicator.contains("does not work with the replicator"), "{replicator}");
    let none = refused(&helm, &["--set=readyMadeNamespaces={shop}"]).await;
    assert!(none.contains("`readyMade` names none"), "{none}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn labels_annotations_and_keys_of_the_operator_replace_those_of_the_chart_and_no_selector() {
    let labels =
        "--set=podLabels.team=shop,podLabels.helm\\.sh/chart=own,podLabels.app\\.kubernetes\\.io/name=other";
    let annotation = "--set=podAnnotations.kubectl\\.kubernetes\\.io/default-container=sidecar";
    let monitor = "--set=serviceMonitor.enabled=true,serviceMonitor.endpoint.interval=15s,serviceMonitor.labels.helm\\.sh/chart=own";

    let manifests = chart(&helm().await, &[labels, annotation, monitor]).await;

    let template = &manifests.the("Deployment")["spec"]["template"]["metadata"];
    assert_eq!(template["labels"]["team"], "shop");
    assert_eq!(template["labels"]["helm.sh/chart"], "own");
    assert_eq!(template["labels"]["app.kubernetes.io/name"], "informer", "the selector finds the pod");
    assert_eq!(template["annotations"]["kubectl.kubernetes.io/default-container"], "sidecar");
    let monitor = manifests.the("ServiceMonitor");
    assert_eq!(monitor["metadata"]["labels"]["helm.sh/chart"], "own");
    let endpoint = json!({
        "port": "health", "path": "/metrics", "interval": "15s", "scrapeTimeout": "10s", "honorLabels": true,
    });
    assert_eq!(monitor["spec"]["endpoints"], json!([endpoint]));
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_namespace_and_a_release_whose_names_look_like_numbers_stay_texts() {
    let own = deployed("helm/informer");
    let values = "--set-string=nameOverride=1e3,readyMade={reloader},readyMadeNamespaces={1000},componentConfigMaps={12}";
    let arguments = ["template", "1e3", own.to_str().unwrap(), "--namespace=2024", values];

    let manifests = Manifests::parse(&helm().await.prints(&arguments).await);

    let namespaces = |kind: &str| -> Vec<Value> {
        manifests.all(kind).into_iter().map(|object| object["metadata"]["namespace"].clone()).collect()
    };
    for kind in manifests.kinds().into_iter().filter(|kind| !kind.starts_with("Role")) {
        assert_eq!(namespaces(kind), ["2024"], "{kind}");
    }
    for kind in ["Role", "RoleBinding"] {
        assert_eq!(namespaces(kind), ["1000", "default"], "{kind}");
    }
    for binding in manifests.all("RoleBinding") {
        assert_eq!(binding["subjects"][0]["namespace"], "2024");
    }
    assert_eq!(manifests.the("Deployment")["metadata"]["name"], "1e3");
    let deployment = &manifests.the("Deployment")["spec"];
    assert_eq!(deployment["selector"]["matchLabels"]["app.kubernetes.io/instance"], "1e3");
    assert_eq!(manifests.pod()["volumes"][0]["projected"]["sources"][1]["configMap"]["name"], "12");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_notes_name_a_state_that_ends_with_the_pod() {
    let (helm, own) = (helm().await, deployed("helm/informer"));
    for (value, ends) in [
        ("state.persistent=false", true),
        ("state.persistent=true", false),
        ("state.existingClaim=kept", false),
    ] {
        let install = ["install", "informer", own.to_str().unwrap(), "--dry-run=client", "--set", value];

        let notes = helm.prints(&install).await;

        assert_eq!(notes.contains("dead letters end with the pod"), ends, "{value}: {notes}");
    }
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn values_turn_parts_on_and_off() {
    let helm = helm().await;

    let manifests = chart(
        &helm,
        &[
            "--set=state.persistent=true,state.size=5Gi,registrySecret=pull,componentConfigMaps={more,most}",
            "--set=serviceMonitor.enabled=true,serviceMonitor.endpoint.scheme=http,networkPolicy.enabled=false,podDisruptionBudget.enabled=false",
            "--set=rbac.create=false,serviceAccount.create=false,serviceAccount.name=own",
            &format!("--set=image.repository=r.example.com/informer,image.digest=sha256:{}", "0".repeat(64)),
            "--set=networkPolicy.scrapers[0].podSelector.matchLabels.app=prometheus",
        ],
    )
    .await;

    assert_eq!(
        manifests.kinds(),
        ["ConfigMap", "Deployment", "PersistentVolumeClaim", "Service", "ServiceMonitor"]
    );
    let (pod, container) = (manifests.pod(), manifests.container());
    assert_eq!(pod["serviceAccountName"], "own");
    assert_eq!(container["image"], format!("r.example.com/informer@sha256:{}", "0".repeat(64)));
    let volumes = pod["volumes"].as_array().unwrap();
    let sources: Vec<&Value> = volumes[0]["projected"]["sources"].as_array().unwrap().iter().collect();
    assert_eq!(sources.len(), 3, "{sources:?}");
    assert_eq!(volumes[1]["persistentVolumeClaim"]["claimName"], "informer");
    assert_eq!(volumes[3]["secret"]["items"][0]["path"], "config.json");
    assert_eq!(container["env"][0], json!({"name": "DOCKER_CONFIG", "value": "/etc/informer-registry"}));
    assert_eq!(manifests.the("ServiceMonitor")["spec"]["endpoints"][0]["scheme"], "http");
    let claim = manifests.the("PersistentVolumeClaim");
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "5Gi");

    let unset =
        "--set=state.existingClaim=kept,livenessProbe=null,startupProbe=null,enabled=true,config=null";
    let manifests = chart(&helm, &[unset]).await;
    assert_eq!(manifests.pod()["volumes"][1]["persistentVolumeClaim"]["claimName"], "kept");
    let probe = json!({"httpGet": {"path": "/livez", "port": "health"}});
    assert_eq!(manifests.container()["livenessProbe"], probe);
    assert_eq!(
        manifests.container()["startupProbe"],
        Value::Null,
        "an empty startup probe would have the defaults of Kubernetes, and end the host after 30 s"
    );
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_chart_installs_the_alert_rules_and_the_dashboard_as_they_are() {
    let values = "--set=prometheusRule.enabled=true,prometheusRule.labels.release=prometheus,dashboard.enabled=true,\
                  serviceMonitor.enabled=true,serviceMonitor.endpoint.honorLabels=false";
    let manifests = chart(&helm().await, &[values]).await;

    let rule = manifests.the("PrometheusRule");
    let alerts: Value = serde_saphyr::from_str(&text("monitoring/alerts.yaml")).unwrap();
    assert_eq!((&rule["spec"], &rule["metadata"]["labels"]["release"]), (&alerts, &json!("prometheus")));
    let maps = manifests.all("ConfigMap");
    let map = maps.iter().find(|map| map["metadata"]["name"] == "informer-dashboard").unwrap();
    let dashboard: Value = serde_json::from_str(map["data"]["informer.json"].as_str().unwrap()).unwrap();
    assert_eq!(dashboard, serde_json::from_str::<Value>(&text("monitoring/dashboard.json")).unwrap());
    assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
    assert_eq!(manifests.the("ServiceMonitor")["spec"]["endpoints"][0]["honorLabels"], false);
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_network_policy_opens_the_port_of_the_collector_and_no_other() {
    let helm = helm().await;
    let egress = async |telemetry: &str| {
        let file = helm.home().join("telemetry.toml");
        fs::write(&file, CONFIGURATION.replace("9000", "8081") + telemetry).unwrap();
        let config = format!("--set-file=config={}", file.display());
        let roles =
            format!("--set-file=rbac.manifest={}", deployed("helm/informer/files/rbac.yaml").display());
        let manifests = chart(&helm, &[&config, &roles]).await;
        manifests.the("NetworkPolicy")["spec"]["egress"].as_array().unwrap().clone()
    };
    let without = egress("").await;

    let with = egress("[telemetry]\nsample = 0.5\nendpoint = 'http://otel.monitoring:4319/otlp'\n").await;

    assert_eq!(with[..without.len()], without);
    assert_eq!(with[without.len()..], [json!({"ports": [{"port": 4319}]})]);
    for closed in [
        "[telemetry]\nendpoint = \"https://otel.example.com\"\n",
        "# [telemetry]\n# endpoint = \"http://x:1\"\n",
    ] {
        assert_eq!(egress(closed).await, without, "{closed}");
    }
    for commented in ["[telemetry]\n# see [traces]\n", "[ telemetry ]\nsample = 0.5 # see [traces]\n"] {
        let opened = egress(&format!("{commented}endpoint = \"http://otel.monitoring:4319\"\n")).await;
        assert_eq!(opened, with, "{commented}");
    }
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn two_releases_share_no_role() {
    let helm = helm().await;
    let mut names = Vec::new();
    for namespace in ["--namespace=one", "--namespace=two"] {
        let manifests = chart(&helm, &[namespace, "--set=readyMade={reloader}"]).await;
        for kind in ["ClusterRole", "Role"] {
            let of = |role: &Value| ["namespace", "name"].map(|key| role["metadata"][key].to_string());
            names.extend(manifests.all(kind).into_iter().map(of));
        }
    }

    let distinct: BTreeSet<_> = names.iter().collect();
    assert!(names.iter().any(|[namespace, _]| namespace == "\"default\""), "{names:?}");
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_schema_refuses_wrong_values_and_names_them() {
    let helm = helm().await;
    for (value, named) in [
        ("replicaCount=2", "replicaCount"),
        ("image.tagg=1", "tagg"),
        ("image.digest=sha256:12", "/image/digest"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("health.port=80", "/health/port"),
        ("health.port=http", "/health/port"),
        ("resources.limits.memory=lots", "/resources/limits/memory"),
        ("state.size=1GB", "/state/size"),
        ("podDisruptionBudget.maxUnavailable=2", "/podDisruptionBudget/maxUnavailable"),
        ("plugins.Hello.toml=x", "Hello"),
        ("plugins.hello.component=AGFz", "toml"),
        ("serviceMonitor.interval=often", "/serviceMonitor/interval"),
        ("registrySecret=No Secret", "/registrySecret"),
        ("fullnameOverride=no.service", "/fullnameOverride"),
        ("readyMadeNamespaces={Shop}", "/readyMadeNamespaces"),
        ("env[0].name=RUST_BACKTRACE,env[0].value=1", "/env/0/value"),
        // Kubernetes accepts only 1 here.
        ("startupProbe.successThreshold=2", "/startupProbe/successThreshold"),
        ("livenessProbe.successThreshold=2", "/livenessProbe/successThreshold"),
        // `replicas: null` would mean no pod, and `apiServerPorts: null` a policy that allows every port.
        ("replicas=null", "replicas"),
        ("networkPolicy.apiServerPorts=null", "apiServerPorts"),
    ] {
        let problem = refused(&helm, &["--set", value]).await;

        assert!(problem.contains(named), "{value}: {problem}");
    }
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_dot_is_refused_in_the_name_of_the_service_and_not_in_labels() {
    let (helm, own) = (helm().await, deployed("helm/informer"));

    let manifests = chart(&helm, &["--set=nameOverride=shop.informer,fullnameOverride=informer"]).await;
    let named = refused(&helm, &["--set=nameOverride=shop.informer"]).await;
    let released = helm.fails(&["template", "shop.informer", own.to_str().unwrap()]).await;

    let service = manifests.the("Service");
    assert_eq!(service["metadata"]["name"], "informer");
    assert_eq!(service["spec"]["selector"]["app.kubernetes.io/name"], "shop.informer");
    assert!(named.contains("no Service can have the name \"informer-shop.informer\""), "{named}");
    assert!(released.contains("no Service can have the name \"shop.informer\""), "{released}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_configuration_without_probes_or_roles_is_refused_with_the_remedy() {
    let helm = helm().await;
    let file = helm.home().join("informer.toml");
    fs::write(&file, CONFIGURATION).unwrap();
    let config = format!("--set-file=config={}", file.display());

    let port = refused(&helm, &[&config, "--set=rbac.create=false"]).await;
    let roles = refused(&helm, &[&config, "--set=health.port=9000"]).await;
    fs::write(&file, CONFIGURATION.replace("0.0.0.0", "127.0.0.1")).unwrap();
    let loopback = refused(&helm, &[&config, "--set=health.port=9000,rbac.create=false"]).await;
    assert!(loopback.contains("the kubelet cannot reach the health listener"), "{loopback}");
    let odd = refused(&helm, &["--set=rbac.manifest=kind: Secret"]).await;

    assert!(port.contains("write `health = \"0.0.0.0:8081\"` under [host]"), "{port}");
    assert!(roles.contains("--set-file rbac.manifest=rbac.yaml"), "{roles}");
    assert!(odd.contains("roles and their bindings, not {\"kind\":\"Secret\"}"), "{odd}");
}

#[tokio::test]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn tenancy_installs_the_definitions_and_the_role_of_editors() {
    let manifests = chart(&helm().await, &["--set=tenancy.enabled=true"]).await;

    let mut definitions: Vec<Value> =
        manifests.all("CustomResourceDefinition").into_iter().cloned().collect();
    for definition in &mut definitions {
        let annotations = definition["metadata"].as_object_mut().unwrap().remove("annotations");
        assert_eq!(annotations, Some(json!({"helm.sh/resource-policy": "keep"})), "they outlive the release");
    }
    assert_eq!(definitions, informer::config::definitions());
    let names: Vec<&str> =
        manifests.all("ClusterRole").iter().map(|role| role["metadata"]["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"informer-plugin-editor"), "{names:?}");
}
