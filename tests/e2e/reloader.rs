//! The ready-made plugin `plugins/reloader` in a whole host.

use std::{fs, path::Path};

use informer::{config::Access, connect::connect};
use informer_devserver::{Config, DevServer};
use informer_guests::ready_made;
use informer_tests::host::{TestHost, configuration};
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{CronJob, Job},
    core::v1::{ConfigMap, Secret},
    events::v1::Event,
};
use kube::{
    Client, Resource,
    api::{Api, ListParams, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const WEB: &str = "apps/v1/deployments default/web";

/// The objects of one server, as a person changes them.
struct Cluster {
    server: DevServer,
    client: Client,
}

impl Cluster {
    async fn start() -> Self {
        let server = DevServer::start(Config::default()).await.unwrap();
        let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
        let cluster = Self { server, client };
        cluster.create::<ConfigMap>(json!({"metadata": {"name": "app"}, "data": {"key": "1"}})).await;
        cluster.create::<Secret>(json!({"metadata": {"name": "app"}, "stringData": {"key": "1"}})).await;
        cluster
    }

    fn api<T: Resource<Scope = k8s_openapi::NamespaceResourceScope>>(&self) -> Api<T>
    where
        T::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn create<T>(&self, object: Value)
    where
        T: Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + Serialize
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
        T::DynamicType: Default,
    {
        let object = serde_json::from_value(object).unwrap();
        self.api::<T>().create(&PostParams::default(), &object).await.unwrap();
    }

    async fn set_map(&self, value: &str) {
        let patch = Patch::Merge(json!({"data": {"key": value}}));
        self.api::<ConfigMap>().patch("app", &PatchParams::default(), &patch).await.unwrap();
    }

    async fn set_secret(&self, value: &str) {
        let patch = Patch::Merge(json!({"stringData": {"key": value}}));
        self.api::<Secret>().patch("app", &PatchParams::default(), &patch).await.unwrap();
    }

    /// The generation of the Deployment `web`, which each roll raises, and the names of its markers.
    async fn web(&self) -> (i64, Vec<String>) {
        let web = self.api::<Deployment>().get("web").await.unwrap();
        let pod = web.spec.unwrap().template.spec.unwrap();
        let markers = pod.containers[0].env.clone().unwrap_or_default();
        (web.metadata.generation.unwrap(), markers.into_iter().map(|marker| marker.name).collect())
    }

    /// Starts a host with the [`shipped`] fragment, and waits until its caches are complete.
    async fn host(&self, state: &Path, adjust: impl FnOnce(String) -> String) -> TestHost {
        let host = TestHost::start_in(&self.server.url(), state, &shipped(adjust).await).await.unwrap();
        host.synced().await;
        host
    }
}

/// The shipped fragment of the plugin after `adjust`. The component is the one that was built for the tests.
async fn shipped(adjust: impl FnOnce(String) -> String) -> String {
    let built = tokio::task::spawn_blocking(|| ready_made("reloader")).await.unwrap();
    let text = fs::read_to_string("../plugins/reloader/informer.toml").unwrap();
    let component = "../../target/wasm32-wasip2/plugin/informer_reloader.wasm";
    adjust(text.replace(component, built.to_str().unwrap()))
}

fn configured(lines: &str) -> impl FnOnce(String) -> String + use<> {
    let lines = format!("\n  [plugin.config]\n  settle = \"100ms\"\n  {lines}\n");
    move |text| text + &lines
}

/// A pod template that refers to the ConfigMap `app` and to the Secret `app`.
fn template() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"restartPolicy": "Always", "containers": [{
        "name": "main", "image": "web:1",
        "envFrom": [{"configMapRef": {"name": "app"}}],
        "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "app", "key": "key"}}}],
    }]}})
}

fn deployment(name: &str, annotations: &Value) -> Value {
    json!({
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template()},
    })
}

/// Waits until the plugin has found no changes of a workload for this number of times.
async fn calm(host: &TestHost, workload: &str, times: usize) {
    let line = format!("{workload} has no changes");
    let what = format!("{times} times `{line}`");
    host.lines
        .until("reloader", &what, |lines| lines.iter().filter(|own| **own == line).count() >= times)
        .await;
}

/// The host keeps digests of a ConfigMap, and all of one that has `data` and `binaryData`.
#[tokio::test(flavor = "multi_thread")]
async fn a_config_map_with_binary_data_rolls_and_needs_no_request() {
    let (cluster, state) = (Cluster::start().await, TempDir::new().unwrap());
    cluster.create::<Deployment>(deployment("web", &json!({"reloader.stakater.com/auto": "true"}))).await;
    let host = cluster.host(state.path(), configured("")).await;
    calm(&host, WEB, 1).await;
    let marker = async || {
        let web = serde_json::to_value(cluster.api::<Deployment>().get("web").await.unwrap()).unwrap();
        web["spec"]["template"]["spec"]["containers"][0]["env"][1]["value"].as_str().map(str::to_owned)
    };

    let requests = || host.plugin("reloader")["calls"]["client"]["requests"].as_u64().unwrap();

    // `printf 'image=AQI=;key=1' | sha1sum`, and so on.
    for (image, expected, sent) in [
        ("AQI=", "46ba3504fa639332310361729081c922b069aeb8", 2),
        ("AQM=", "3ef33a767367309f7e369afbd7d495b458f6bd81", 4),
    ] {
        let patch = Patch::Merge(json!({"binaryData": {"image": image}}));
        cluster.api::<ConfigMap>().patch("app", &PatchParams::default(), &patch).await.unwrap();
        host.until("an Event about the roll", |_| requests() >= sent).await;
        assert_eq!(marker().await.as_deref(), Some(expected));
        assert_eq!(requests(), sent, "a roll, and an Event about it");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_without_a_grant_rolls_nothing_and_the_log_says_what_to_grant() {
    let (cluster, state) = (Cluster::start().await, TempDir::new().unwrap());
    cluster.create::<Deployment>(deployment("web", &json!({"reloader.stakater.com/auto": "true"}))).await;
    let without = |text: String| text.replace(r#"secrets = ["digest *"]"#, "secrets = []");
    let host = cluster.host(state.path(), |text| configured("")(without(text))).await;
    let line = format!(
        "{WEB}: Secret/app: the host masks its data or its annotations: write `digest *` in `secrets`"
    );
    host.lines.said("reloader", &line, "").await;

    cluster.set_secret("2").await;
    cluster.set_map("2").await;
    host.lines.said("reloader", &format!("{WEB} was rolled: ConfigMap/app changed"), "").await;
    assert_eq!(cluster.web().await, (2, ["KEY", "STAKATER_APP_CONFIGMAP"].map(str::to_owned).to_vec()));
    host.stop().await;
}

/// Two Deployments of which one may be rolled at a time. The second one waits for the status of the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_waits_for_the_one_before_it() {
    let (cluster, state) = (Cluster::start().await, TempDir::new().unwrap());
    for name in ["web", "api"] {
        cluster.create::<Deployment>(deployment(name, &json!({"reloader.stakater.com/auto": "true"}))).await;
    }
    let api = "apps/v1/deployments default/api";
    let with_status =
        |text: String| text.replace(r#"annotations", "/spec"]"#, r#"annotations", "/spec", "/status"]"#);
    let host = cluster.host(state.path(), |text| configured("rolls-at-a-time = 1")(with_status(text))).await;
    for workload in [WEB, api] {
        calm(&host, workload, 1).await;
    }
    let rolled = |name: &str| format!("apps/v1/deployments default/{name} was rolled: ConfigMap/app changed");

    cluster.set_map("2").await;
    let waits = |line: &String| line.contains("`rolls-at-a-time` is reached");
    host.lines.until("reloader", "that one waits", |lines| lines.iter().any(waits)).await;
    let is_first = |name: &&str| host.lines.of("reloader").iter().any(|line| line.contains(&rolled(name)));
    let first: Vec<&str> = ["web", "api"].into_iter().filter(is_first).collect();
    assert_eq!(first.len(), 1);
    let complete = json!({"status": {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}});
    let patch = Patch::Merge(complete);
    cluster.api::<Deployment>().patch_status(first[0], &PatchParams::default(), &patch).await.unwrap();

    let second = if first == ["web"] { "api" } else { "web" };
    host.lines.said("reloader", &rolled(second), "").await;
    host.stop().await;
}

/// A live change, a change while the host is down, restarts without a change, and a start without the state of the plugin.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_rolls_once_also_after_a_restart_and_nothing_else_rolls() {
    let (cluster, state) = (Cluster::start().await, TempDir::new().unwrap());
    cluster.create::<Deployment>(deployment("web", &json!({"reloader.stakater.com/auto": "true"}))).await;
    cluster.create::<Deployment>(deployment("plain", &json!({}))).await;
    let host = cluster.host(state.path(), configured("")).await;
    calm(&host, WEB, 1).await;
    assert_eq!(cluster.web().await, (1, vec!["KEY".to_owned()]), "a first start rolls nothing");
    let requests = |host: &TestHost| host.plugin("reloader")["calls"]["client"]["requests"].as_u64().unwrap();
    assert_eq!(requests(&host), 0, "a start reads no data");

    cluster.set_map("2").await;
    host.lines.said("reloader", &format!("{WEB} was rolled: ConfigMap/app changed"), "").await;
    host.until("an Event about the roll", |_| requests(&host) >= 2).await;
    calm(&host, WEB, 2).await;
    assert_eq!(requests(&host), 2, "the roll, and an Event about it");
    let map_only = ["KEY", "STAKATER_APP_CONFIGMAP"].map(str::to_owned).to_vec();
    assert_eq!(cluster.web().await, (2, map_only.clone()));
    let without_index = host.lines.of("reloader").iter().any(|line| line.contains("are looked at"));
    assert!(!without_index, "the watches have the indexes");
    host.stop().await;

    let host = cluster.host(state.path(), configured("")).await;
    calm(&host, WEB, 1).await;
    assert_eq!(cluster.web().await, (2, map_only), "a restart rolls nothing");
    host.stop().await;

    cluster.set_map("3").await;
    cluster.set_secret("3").await;
    let host = cluster.host(state.path(), configured("")).await;
    let both = format!("{WEB} was rolled: ConfigMap/app changed, Secret/app changed");
    host.lines.said("reloader", &both, "").await;
    calm(&host, WEB, 1).await;
    let markers = ["KEY", "STAKATER_APP_CONFIGMAP", "STAKATER_APP_SECRET"].map(str::to_owned).to_vec();
    assert_eq!(
        cluster.web().await,
        (3, markers.clone()),
        "both changes while the host was down are one roll"
    );
    host.stop().await;

    let host = cluster.host(TempDir::new().unwrap().path(), configured("")).await;
    calm(&host, WEB, 1).await;
    assert_eq!(cluster.web().await, (3, markers), "the markers are enough, as after a migration");
    host.stop().await;

    let events = cluster.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    assert!(events.iter().all(|event| event.reason.as_deref() == Some("Reloaded")), "{events:?}");
    assert!(!events.is_empty());
    let plain = cluster.api::<Deployment>().get("plain").await.unwrap();
    assert_eq!(plain.metadata.generation, Some(1));
}

/// The plugin compares a source with the state that it saw first. Without a comparison at the reload, the plugin would see the source for
/// the first time after the change, and would roll nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_setting_of_a_new_configuration_applies_to_workloads_that_exist() {
    let cluster = Cluster::start().await;
    cluster.create::<Deployment>(deployment("web", &json!({}))).await;
    let host = TestHost::start(&cluster.server.url(), &shipped(configured("")).await).await.unwrap();
    host.synced().await;

    let changed = shipped(configured("auto-reload-all = true")).await;
    host.app().apply(configuration(&changed).unwrap()).await.unwrap();
    calm(&host, WEB, 1).await;
    cluster.set_map("2").await;

    host.lines.said("reloader", &format!("{WEB} was rolled: ConfigMap/app changed"), "").await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cron_job_runs_now_and_a_job_is_replaced() {
    let (cluster, state) = (Cluster::start().await, TempDir::new().unwrap());
    let annotations = json!({"configmap.reloader.stakater.com/reload": "ap+,other"});
    let mut pods = template();
    pods["spec"]["restartPolicy"] = json!("Never");
    let metadata = |name: &str| json!({"name": name, "annotations": annotations});
    cluster.create::<Job>(json!({"metadata": metadata("import"), "spec": {"template": pods}})).await;
    let job = json!({"spec": {"template": pods}});
    let spec = json!({"schedule": "0 0 * * *", "jobTemplate": job});
    let nightly = json!({"name": "nightly", "annotations": {"reloader.stakater.com/auto": "true"}});
    cluster.create::<CronJob>(json!({"metadata": nightly, "spec": spec})).await;
    let before = cluster.api::<Job>().get("import").await.unwrap().metadata.uid;
    let host = cluster.host(state.path(), configured("")).await;
    calm(&host, "batch/v1/jobs default/import", 1).await;
    calm(&host, "batch/v1/cronjobs default/nightly", 1).await;

    cluster.set_map("2").await;
    host.lines.said("reloader", "batch/v1/cronjobs default/nightly was run: ConfigMap/app changed", "").await;
    host.lines.said("reloader", "batch/v1/jobs default/import was replaced: ConfigMap/app changed", "").await;
    calm(&host, "batch/v1/jobs default/import", 2).await;

    let jobs = cluster.api::<Job>().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(jobs.len(), 2);
    assert_ne!(jobs[0].metadata.uid, before);
    for job in &jobs {
        let pod = job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
        let names: Vec<_> =
            pod.containers[0].env.iter().flatten().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["KEY", "STAKATER_APP_CONFIGMAP"]);
    }
    let owners = jobs[1].metadata.owner_references.as_ref().unwrap();
    assert_eq!((owners[0].kind.as_str(), owners[0].name.as_str()), ("CronJob", "nightly"));
    host.stop().await;
}

/// The pod templates that refer to the ConfigMap `app` and to the Secret `app`, one for each form of a reference.
fn referring() -> [(&'static str, Value); 5] {
    let main = json!({"name": "main", "image": "web:1"});
    let mounted = json!([{"name": "main", "image": "web:1", "volumeMounts": [
        {"name": "map", "mountPath": "/map"}, {"name": "secret", "mountPath": "/secret"},
    ]}]);
    let projected = |source: Value| json!({"projected": {"sources": [source]}});
    let volumes = |map: Value, secret: Value| {
        let mut both = json!([map, secret]);
        both[0]["name"] = json!("map");
        both[1]["name"] = json!("secret");
        both
    };
    let keys = json!([
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "key"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "app", "key": "key"}}},
    ]);
    let whole = json!([{"configMapRef": {"name": "app"}}, {"secretRef": {"name": "app"}}]);
    let plain = volumes(json!({"configMap": {"name": "app"}}), json!({"secret": {"secretName": "app"}}));
    let joined = volumes(
        projected(json!({"configMap": {"name": "app"}})),
        projected(json!({"secret": {"name": "app"}})),
    );
    [
        ("volumes", json!({"volumes": plain, "containers": mounted})),
        ("projected", json!({"volumes": joined, "containers": mounted})),
        ("keys", json!({"containers": [{"name": "main", "image": "web:1", "env": keys}]})),
        (
            "init-keys",
            json!({"containers": [main], "initContainers": [{"name": "init", "image": "web:1", "env": keys}]}),
        ),
        (
            "init-whole",
            json!({"containers": [main], "initContainers": [{"name": "init", "image": "web:1", "envFrom": whole}]}),
        ),
    ]
}

/// The indexes of the shipped watches lead from a source to the workloads, so a form without its pointer would never roll.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_rolls_the_workloads_that_refer_to_it_in_any_form() {
    let (cluster, state) = (Cluster::start().await, TempDir::new().unwrap());
    for (name, pod) in referring() {
        let mut object = deployment(name, &json!({"reloader.stakater.com/auto": "true"}));
        object["spec"]["template"]["spec"] = pod;
        cluster.create::<Deployment>(object).await;
    }
    let host = cluster.host(state.path(), configured("")).await;
    for (name, _) in referring() {
        calm(&host, &format!("apps/v1/deployments default/{name}"), 1).await;
    }
    // One after the other: a key that one source adds finds the changes of the other one, too.
    cluster.set_map("2").await;
    all_rolled(&host, "ConfigMap/app changed").await;
    cluster.set_secret("2").await;
    all_rolled(&host, "Secret/app changed").await;
    host.stop().await;
}

/// Waits until each of the referring workloads was rolled for this change alone.
async fn all_rolled(host: &TestHost, change: &str) {
    for (name, _) in referring() {
        let line = format!("apps/v1/deployments default/{name} was rolled: {change}");
        host.lines.until("reloader", &line, |lines| lines.contains(&line)).await;
    }
}

/// Answers each request with 200, and returns the first one.
async fn receive(listener: TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut received = Vec::new();
    while !received.ends_with(b"}") {
        assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0, "{received:?}");
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    String::from_utf8(received).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_receives_the_change_and_the_workload_is_not_rolled() {
    let (cluster, state) = (Cluster::start().await, TempDir::new().unwrap());
    cluster.create::<Deployment>(deployment("web", &json!({"reloader.stakater.com/auto": "true"}))).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let received = tokio::spawn(receive(listener));
    let webhook = configured(&format!("webhook-url = \"{url}\""));
    let host = cluster
        .host(state.path(), |text| webhook(text.replace("http = []", &format!("http = [\"{url}\"]"))))
        .await;
    calm(&host, WEB, 1).await;

    cluster.set_secret("2").await;
    host.lines.said("reloader", &format!("{WEB} was reported to the webhook: Secret/app changed"), "").await;

    let request = received.await.unwrap();
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\"changes\":[\"Secret/app changed\"]"), "{request}");
    assert_eq!(cluster.web().await.0, 1);
    host.stop().await;
}
