//! A component that the host pulls from a registry in the cluster, and metrics that need a token.

use std::{fs, time::Instant};

use informer_guests::guest;
use informer_tests::binary::informer;
use serde_json::json;
use tokio::process::Command;

use crate::installed::{Installed, configured, report};

/// The port of the registry in its pod.
const PORT: u16 = 5000;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and containerd: run by cargo xtask test --node"]
async fn a_component_comes_from_a_registry_in_the_cluster_and_metrics_need_a_token() {
    let installed = Installed::start().await;
    let registry = start_registry(&installed).await;
    let source = format!("oci://{registry}/acme/echo:1");
    let configuration = configuration(&registry, &source);
    push(&installed, &configuration, &source).await;
    installed.kubectl().prints(&["create", "namespace", "informer"]).await;
    let began = Instant::now();
    let values = configured(&installed.helm, &configuration);
    installed.helm("install", &values.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let pod = installed.ready().await;
    report("installed, pulled from the registry and ready", began);

    installed.kubectl().prints(&["create", "configmap", "hello", "--namespace=shop"]).await;
    installed.until_log(&pod, "the ConfigMap", |log| log.contains("hello")).await;

    let status = installed.exec(&["status"]).await;
    assert!(status.contains("echo"), "{status}");
    needs_a_token(&installed, &pod).await;
    outlives_its_registry(&installed).await;
    installed.node.shutdown().await.unwrap();
}

/// Starts the registry, and returns its host and port. No program of the cluster needs a name for it.
async fn start_registry(installed: &Installed) -> String {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "registry", "namespace": "shop"}, "spec": {
        "containers": [{
            // The program ends with its standard input.
            "name": "registry", "image": "localhost/registry:1", "imagePullPolicy": "Never", "stdin": true,
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "readinessProbe": {"httpGet": {"path": "/v2/", "port": PORT}, "periodSeconds": 1},
        }],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }});
    installed.apply("registry.json", &pod).await;
    installed.pod_ready("shop", "registry").await;
    format!("{}:{PORT}", installed.address("shop", "registry").await)
}

fn configuration(registry: &str, source: &str) -> String {
    format!(
        r#"
[host]
health = "0.0.0.0:8081"
metrics-auth = "kubernetes"

[[registry]]
host = "{registry}"
insecure = true

[[watch]]
gvr = "v1/configmaps"
namespaces = ["shop"]

[[plugin]]
name = "echo"
source = "{source}"

  [[plugin.on]]
  watch = "v1/configmaps"

  [plugin.grant]
  read = ["v1/configmaps"]
"#
    )
}

/// Pushes the component as its author does.
async fn push(installed: &Installed, configuration: &str, source: &str) {
    let directory = installed.node.directory().join("author");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("informer.toml"), configuration).unwrap();
    let mut command = Command::new(informer().await);
    command.current_dir(&directory).args(["plugin", "push"]).arg(guest("echo")).arg(source);
    let pushed = command.output().await.unwrap();
    assert!(pushed.status.success(), "{pushed:?}");
}

/// The API server reviews the token of each request for metrics.
async fn needs_a_token(installed: &Installed, pod: &str) {
    let metrics = format!("http://{}:8081/metrics", installed.address("informer", pod).await);
    installed.client("scraper").await;
    let kubectl = installed.kubectl();
    kubectl.prints(&["create", "serviceaccount", "prometheus", "--namespace=shop"]).await;
    let token = kubectl.prints(&["create", "token", "prometheus", "--namespace=shop"]).await;
    let header = format!("--header=Authorization: Bearer {}", token.trim());

    let without = installed.wget("scraper", &[&metrics]).await;
    let not_allowed = installed.wget("scraper", &[&header, &metrics]).await;
    let verbs = ["create", "clusterrole", "informer-metrics", "--verb=get", "--non-resource-url=/metrics"];
    kubectl.prints(&verbs).await;
    let account = "--serviceaccount=shop:prometheus";
    let binding = ["create", "clusterrolebinding", "prometheus", "--clusterrole=informer-metrics", account];
    kubectl.prints(&binding).await;
    let other = kubectl.prints(&["create", "token", "prometheus", "--namespace=shop"]).await;
    let header = format!("--header=Authorization: Bearer {}", other.trim());
    let allowed = installed.wget("scraper", &[&header, &metrics]).await;

    assert!(without.contains("401"), "{without}");
    assert!(not_allowed.contains("403"), "{not_allowed}");
    assert!(allowed.contains("informer_registry_pulls"), "{allowed}");
}

/// The container is started again without its registry: the layer is in the cache of the pod.
async fn outlives_its_registry(installed: &Installed) {
    let kubectl = installed.kubectl();
    kubectl.prints(&["delete", "pod", "registry", "--namespace=shop", "--now"]).await;
    let pod = installed.pod().await;
    let process = installed.node.process("informer", &pod).await.unwrap();
    let killed = Command::new("kill").args(["-KILL", &process.to_string()]).status().await.unwrap();
    assert!(killed.success());
    let wait =
        ["wait", "--namespace=informer", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"];
    kubectl.prints(&[wait.as_slice(), &[&format!("pod/{pod}"), "--timeout=50s"]].concat()).await;

    installed.ready().await;

    installed.kubectl().prints(&["create", "configmap", "again", "--namespace=shop"]).await;
    installed.until_log(&pod, "the second ConfigMap", |log| log.contains("again")).await;
}
