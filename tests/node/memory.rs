//! Many objects in a small container.

use std::{fs, time::Instant};

use futures::{StreamExt, stream};
use informer_guests::guest;
use informer_image::tree::digest;
use informer_tests::cluster::User;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep, timeout};

use crate::installed::{Installed, configured, report};

const PODS: usize = 20_000;

const CONFIGURATION: &str = r#"
[host]
health = "0.0.0.0:8081"
guest-memory = "24MiB"
compile-memory = "64MiB"
trace = 1024

[[watch]]
gvr = "v1/pods"

[[plugin]]
name = "reader"
source = "reader.wasm"

  [[plugin.on]]
  watch = "v1/pods"

  [plugin.limits]
  memory = "16MiB"

  [plugin.grant]
  read = ["v1/pods"]
"#;

/// The most memory of the container, by both versions of control groups.
const PEAKS: [(&str, &str); 2] = [("memory", "memory.max_usage_in_bytes"), ("", "memory.peak")];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and containerd: run by cargo xtask test --node"]
async fn twenty_thousand_pods_fit_into_a_container_of_128_mib() {
    let installed = Installed::start().await;
    let began = Instant::now();
    let bytes = create_pods(&installed).await;
    report(&format!("{PODS} pods of {bytes} bytes created"), began);
    let began = Instant::now();
    install(&installed).await;
    let pod = installed.ready().await;
    report("ready", began);

    let delivered = async {
        while acknowledged(&installed).await < PODS as u64 {
            sleep(Duration::from_millis(500)).await;
        }
    };
    if timeout(Duration::from_secs(180), delivered).await.is_err() {
        panic!("{}", installed.story().await);
    }
    report("every pod delivered to the plugin", began);

    println!("==> peak of the container: {} MiB of 128 MiB", peak(&installed, &pod).await >> 20);
    println!("{}", installed.exec(&["status"]).await);
    assert_eq!(installed.container(&pod, "restartCount").await, "0");
    installed.node.shutdown().await.unwrap();
}

/// The notifications that the plugin has acknowledged.
async fn acknowledged(installed: &Installed) -> u64 {
    let queues = installed.exec(&["queues", "--output", "json"]).await;
    let queues: Value = serde_json::from_str(&queues).unwrap();
    queues["queues"][0]["acknowledged"].as_u64().unwrap_or_default()
}

async fn install(installed: &Installed) {
    let kubectl = installed.kubectl();
    kubectl.prints(&["create", "namespace", "informer"]).await;
    // A component as a ConfigMap of its own.
    let component = format!("--from-file=reader.wasm={}", guest("echo").display());
    kubectl.prints(&["create", "configmap", "reader", "--namespace=informer", &component]).await;
    let files = configured(&installed.helm, CONFIGURATION);
    let mut values: Vec<&str> = files.iter().map(String::as_str).collect();
    values.push(
        "--set=componentConfigMaps={reader},resources.limits.memory=128Mi,resources.requests.memory=64Mi",
    );
    installed.helm("install", &values).await;
}

/// Creates pods that no scheduler places, and returns the size of one. Their variables have values that do not compress.
async fn create_pods(installed: &Installed) -> usize {
    let client = installed.node.cluster().client(User::Admin).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client, "shop");
    let pod = |number: usize| -> Pod {
        let variables: Vec<_> = (0..12)
            .map(|at| json!({"name": format!("VARIABLE_{at}"), "value": digest(format!("{number}-{at}").as_bytes())}))
            .collect();
        serde_json::from_value(json!({
            "metadata": {
                "name": format!("pod-{number}"),
                "labels": {"app": format!("app-{}", number % 100), "pod-template-hash": format!("{number:08x}")},
            },
            "spec": {
                "schedulerName": "none",
                "containers": [{
                    "name": "main", "image": format!("registry.example.com/app-{}:1.2.3", number % 100), "env": variables,
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                    "livenessProbe": {"httpGet": {"path": "/livez", "port": 8080}},
                }],
            },
        }))
        .unwrap()
    };
    let creating = stream::iter(0..PODS).map(|number| {
        let (pods, pod) = (pods.clone(), pod(number));
        async move { pods.create(&PostParams::default(), &pod).await.unwrap() }
    });
    let created: Vec<usize> =
        creating.buffer_unordered(32).map(|pod| serde_json::to_vec(&pod).unwrap().len()).collect().await;
    created[0]
}

/// The most memory that the container used, in bytes. The pages of files that the kernel cached count, too.
async fn peak(installed: &Installed, pod: &str) -> u64 {
    let groups = installed.proc(pod, "cgroup").await;
    for (controller, file) in PEAKS {
        let path = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            (parts.next()? == controller).then(|| parts.next()).flatten()
        });
        let Some(path) = path else { continue };
        let file = format!("/sys/fs/cgroup/{controller}{path}/{file}").replace("//", "/");
        if let Ok(text) = fs::read_to_string(&file) {
            return text.trim().parse().unwrap();
        }
    }
    panic!("no control group of memory in\n{groups}");
}
