//! The host as the chart installs it.

use std::{fs, os::unix::fs::chown, time::Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use informer_guests::configmaps_keyvalue;
use informer_tests::host::PATIENCE;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Duration, sleep, timeout},
};

use crate::installed::{Installed, configured, report};

/// The example that counts versions of ConfigMaps keeps its counts in the state of the host.
const CONFIGURATION: &str = r#"
[host]
health = "0.0.0.0:8081"
guest-memory = "64MiB"
compile-memory = "256MiB"

[[watch]]
gvr = "v1/configmaps"
namespaces = ["shop"]

[[plugin]]
name = "counter"
source = "counter.wasm"

  [[plugin.on]]
  watch = "v1/configmaps"

  [plugin.grant]
  keyvalue = "1MiB"
"#;

/// ConfigMaps that exist before the host starts, and those that are made while it is upgraded.
const BEFORE: usize = 20;
const DURING: usize = 60;

/// The arguments of Helm that install [`CONFIGURATION`] with the counter as a part of the ConfigMap and the state on a volume.
struct Values {
    files: Vec<String>,
    counter: String,
}

impl Values {
    fn write(installed: &Installed, configuration: &str) -> Self {
        let home = installed.helm.home();
        let counter = home.join("plugins.json");
        let component = STANDARD.encode(fs::read(configmaps_keyvalue()).unwrap());
        // The table of the plugin is in the configuration already.
        let plugins = json!({"plugins": {"counter": {"component": component, "toml": "# See above."}}});
        fs::write(&counter, plugins.to_string()).unwrap();
        Self {
            files: configured(&installed.helm, configuration),
            counter: format!("--values={}", counter.display()),
        }
    }

    fn with<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let own = ["--set=state.persistent=true", "--set=state.existingClaim=state", &self.counter];
        self.files.iter().map(String::as_str).chain(own).chain(more.iter().copied()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and containerd: run by cargo xtask test --node"]
async fn the_chart_runs_on_a_node_follows_its_configuration_and_is_upgraded_without_a_lost_object() {
    let installed = Installed::start().await;
    namespace_and_volume(&installed).await;
    create(&installed, "before", BEFORE).await;
    let values = Values::write(&installed, CONFIGURATION);

    let began = Instant::now();
    installed.helm("install", &values.with(&[])).await;
    let pod = installed.ready().await;
    report("installed by Helm, ready by the kubelet's probes", began);

    is_isolated(&installed, &pod).await;
    counts_what_exists(&installed, &pod).await;
    answers_operators(&installed, &pod).await;
    is_scraped_by_another_pod(&installed, &pod).await;
    follows_its_config_map(&installed, &pod).await;
    is_upgraded(&installed, &pod).await;
    installed.node.shutdown().await.unwrap();
}

async fn namespace_and_volume(installed: &Installed) {
    let state = installed.node.directory().join("state");
    fs::create_dir(&state).unwrap();
    // The kubelet changes no owner of a directory of its machine.
    chown(&state, Some(65_532), Some(65_532)).unwrap();
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "informer", "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
    }});
    installed.apply("namespace.json", &space).await;
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "state"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": state},
        "storageClassName": "by-hand",
    }});
    installed.apply("volume.json", &volume).await;
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "state", "namespace": "informer"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "by-hand",
        "volumeName": "state",
    }});
    installed.apply("claim.json", &claim).await;
}

/// Creates ConfigMaps `NAME-0`, `NAME-1` and so on, one after another.
async fn create(installed: &Installed, name: &str, count: usize) {
    for number in 0..count {
        let name = format!("{name}-{number}");
        installed.kubectl().prints(&["create", "configmap", &name, "--namespace=shop"]).await;
    }
}

/// The names that the counter logged.
fn counted(log: &str, name: &str, count: usize) -> usize {
    let all = 0..count;
    all.filter(|number| log.contains(&format!("shop/{name}-{number}: "))).count()
}

/// The process is what the security context says, as the kernel sees it.
async fn is_isolated(installed: &Installed, pod: &str) {
    let status = installed.proc(pod, "status").await;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(&format!("{name}:"))).unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(field("Uid"), ["65532"; 4]);
    assert_eq!(field("Gid"), ["65532"; 4]);
    for capabilities in ["CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"] {
        assert_eq!(field(capabilities), ["0000000000000000"], "{capabilities}");
    }
    assert_eq!(field("NoNewPrivs"), ["1"]);
    // 2 is a filter.
    assert_eq!(field("Seccomp"), ["2"]);
    let mounts = installed.proc(pod, "mountinfo").await;
    let root = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/")).unwrap();
    assert!(root.split(' ').nth(5).unwrap().split(',').any(|option| option == "ro"), "{root}");
    let shell = ["exec", pod, "--namespace=informer", "--", "sh", "-c", "true"];
    assert!(installed.kubectl().fails(&shell).await.contains("executable file not found"));
}

async fn counts_what_exists(installed: &Installed, pod: &str) {
    installed
        .until_log(pod, "the ConfigMaps that existed", |log| counted(log, "before", BEFORE) == BEFORE)
        .await;
}

/// Exec, port-forward and logs.
async fn answers_operators(installed: &Installed, pod: &str) {
    let status = installed.exec(&["status"]).await;
    assert!(status.contains("v1/configmaps") && status.contains("counter"), "{status}");
    let forward = ["port-forward", pod, ":8081", "--namespace=informer"];
    let mut forwarding = installed.kubectl().watches(&forward);
    let line = forwarding.line().await;
    let port = line.split_whitespace().nth(2).unwrap().rsplit(':').next().unwrap().to_owned();
    let answer = get(&format!("127.0.0.1:{port}"), "/readyz?verbose").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("[+]plugin counter ok"), "{answer}");
}

/// A request over HTTP, without a library that would hide what the kubelet sees.
async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: 10.98.0.9:8081\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

async fn is_scraped_by_another_pod(installed: &Installed, pod: &str) {
    installed.client("scraper").await;
    let address = installed.address("informer", pod).await;

    let metrics = installed.wget("scraper", &[&format!("http://{address}:8081/metrics")]).await;

    let line = metrics.lines().find(|line| line.starts_with("informer_cache_objects{")).unwrap();
    let objects: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    // Kubernetes has a ConfigMap of its own in each namespace.
    assert_eq!(objects, (BEFORE + 1) as f64, "{line}");
    let admin = format!("http://{address}:8080/status");
    let closed = installed.wget("scraper", &[&admin]).await;
    assert!(closed.contains("refused"), "another pod reaches the admin endpoint: {closed}");
}

/// A changed value reaches the running host through the ConfigMap.
async fn follows_its_config_map(installed: &Installed, pod: &str) {
    let changed =
        CONFIGURATION.replace("gvr = \"v1/configmaps\"", "gvr = \"v1/configmaps\"\nresync = \"1h\"");
    let changed = changed.replace("name = \"counter\"", "name = \"counter\"\nlog-level = \"debug\"");
    let values = Values::write(installed, &changed);
    let began = Instant::now();

    installed.helm("upgrade", &values.with(&[])).await;

    let log = async {
        loop {
            let log = installed.log(pod).await;
            if log.contains("reloaded") {
                return;
            }
            sleep(Duration::from_millis(500)).await;
        }
    };
    // The kubelet looks once a minute, with a random share of half a minute.
    if timeout(Duration::from_secs(120), log).await.is_err() {
        panic!("the changed configuration is not applied:\n{}", installed.log(pod).await);
    }
    report("a changed ConfigMap applied", began);
    assert_eq!(installed.pod().await, pod);
    assert_eq!(installed.container(pod, "restartCount").await, "0");
}

/// Another version replaces the pod while objects are created. The old and the new host together see all of them.
async fn is_upgraded(installed: &Installed, old: &str) {
    let values = Values::write(installed, CONFIGURATION);
    let follow = ["logs", old, "--follow", "--namespace=informer"];
    let began = Instant::now();
    let upgrading = async {
        installed.helm("upgrade", &values.with(&["--set=podAnnotations.version=two"])).await;
        // The old pod ends first.
        let gone = format!("pod/{old}");
        let wait = ["wait", &gone, "--for=delete", "--namespace=informer", "--timeout=50s"];
        installed.kubectl().prints(&wait).await;
        report("SIGTERM until the pod is gone", began);
        let new = installed.ready().await;
        report("upgrade until the new pod is ready", began);
        new
    };

    let (log, (), new) =
        tokio::join!(installed.kubectl().run(&follow), create(installed, "during", DURING), upgrading);

    assert_ne!(new, old);
    let log = log.stdout;
    assert!(log.contains("stopping: the calls in flight finish"), "{log}");
    assert!(log.trim_end().lines().last().unwrap().contains("stopped"), "{log}");
    let seen_by_old = counted(&log, "during", DURING);
    let all = |new_log: &str| counted(&format!("{log}{new_log}"), "during", DURING) == DURING;
    let new_log = installed.until_log(&new, "what the old host did not see", all).await;
    println!("==> of {DURING} objects made during the upgrade the old host saw {seen_by_old}");
    assert!(seen_by_old > 0 && seen_by_old < DURING, "the upgrade was not in the middle: {seen_by_old}");
    // The counts survived: what the old host counted is no new version.
    let known = new_log.lines().filter(|line| line.contains("shop/before-") && line.contains("nothing new"));
    assert_eq!(known.count(), BEFORE, "{new_log}");
}
