//! The roles that `informer rbac` prints are sufficient and minimal, judged by the real authorizer: a run with these
//! roles works, and without any single verb of any rule it visibly fails.

pub(crate) mod roles;

use informer::{config::Config, connect::Connection};
use informer_guests::guest;
use informer_tests::{
    cluster::{Options, RealCluster, User},
    host::{TestHost, configuration},
    writer::Writer,
};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace},
};
use kube::{Api, Client, api::PostParams};
use serde_json::{Value, json};

use roles::Roles;

use crate::support::{config_maps, create};

/// Each line needs a verb that no other line needs. Lists are plain, because a streaming list only needs `watch`.
const CONFIGURATION: &str = r#"
[cluster]
watch-list = "off"
[[watch]]
gvr = "v1/configmaps"
namespaces = ["default"]
[[watch]]
gvr = "v1/nodes"
[[watch]]
gvr = "v1/services"
"#;

const GRANT: &str = r#"read = ["v1/configmaps", "v1/nodes", "apps/v1/deployments/scale @shop"]
write = [
    "create,update,delete v1/configmaps @shop",
    "patch apps/v1/deployments @shop",
    "patch apps/v1/deployments/status @shop",
    "apply v1/serviceaccounts @shop",
    "delete v1/serviceaccounts @shop",
    "create events.k8s.io/v1/events @default",
    "patch v1/secrets @shop",
]
secrets = ["shop/db"]"#;

fn steps() -> Value {
    let deployments = "apps/v1/deployments";
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "applied"}});
    json!([
        {"do": "get"},
        {"do": "list", "namespace": "default"},
        {"do": "get", "gvr": "v1/nodes", "namespace": "", "name": "node-1"},
        {"do": "list", "gvr": "v1/nodes"},
        {"do": "get", "gvr": deployments, "namespace": "shop", "name": "web", "subresource": "scale"},
        {"do": "create", "namespace": "shop", "name": "made", "body": {"metadata": {"name": "made"}}},
        {"do": "update", "namespace": "shop", "name": "made", "body": {"metadata": {"name": "made"}, "data": {"a": "b"}}},
        {"do": "delete", "namespace": "shop", "name": "made"},
        {"do": "merge", "gvr": deployments, "namespace": "shop", "name": "web", "body": {"spec": {"replicas": 2}}},
        {"do": "merge", "gvr": deployments, "namespace": "shop", "name": "web", "subresource": "status", "body": {"status": {"observedGeneration": 1}}},
        {"do": "apply", "gvr": "v1/serviceaccounts", "namespace": "shop", "name": "applied", "body": account},
        {"do": "delete", "gvr": "v1/serviceaccounts", "namespace": "shop", "name": "applied"},
        {"do": "event"},
        {"do": "event"},
        {"do": "merge", "gvr": "v1/secrets", "namespace": "shop", "name": "db", "body": {"stringData": {"a": "b"}}},
    ])
}

fn toml() -> String {
    let writer = Writer { on: "v1/configmaps", grant: GRANT, steps: steps() };
    let listens =
        "[[plugin]]\nname = \"echo\"\nsource = {source:?}\n[[plugin.on]]\nwatch = \"v1/services\"\n"
            .replace("{source:?}", &format!("{:?}", guest("echo")));
    format!("{CONFIGURATION}{}{listens}", writer.toml(&guest("writer")))
}

/// Creates the objects that the requests use.
async fn prepare(admin: &Client) {
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "shop"}})).unwrap();
    Api::all(admin.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(admin.clone(), "shop");
    let web = json!({
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}},
        },
    });
    deployments.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    let node = serde_json::from_value(json!({"metadata": {"name": "node-1"}})).unwrap();
    let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(admin.clone());
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(admin.clone(), "shop");
    let secret = serde_json::from_value(json!({"metadata": {"name": "db"}})).unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    create(&config_maps(admin.clone()), "trigger").await;
}

/// The outcome of a run.
struct Outcome {
    /// The plugin's log line for each step.
    lines: Vec<String>,
    /// The problems in the status.
    troubles: Vec<String>,
}

impl Outcome {
    /// All lines and problems about a missing permission.
    fn refusals(&self) -> Vec<&String> {
        let forbidden = |line: &&String| line.contains("error forbidden: ") || line.contains("403");
        self.lines.iter().chain(&self.troubles).filter(forbidden).collect()
    }
}

/// Runs the host as the user `informer` until all steps are done and all watches are open, or until a request is
/// forbidden.
async fn run(cluster: &RealCluster) -> Outcome {
    let client = cluster.client(User::Informer).await.unwrap();
    let host = TestHost::start_with(Connection::new(client, cluster.url()), &toml()).await.unwrap();
    let count = steps().as_array().unwrap().len();
    let look = |host: &TestHost| {
        let status = host.status();
        let degraded = status["degraded"].as_array().unwrap().iter();
        let degraded = degraded.map(|trouble| trouble.as_str().unwrap().to_owned());
        let troubles = host.unready().into_iter().chain(degraded).collect();
        Outcome { lines: host.lines.of("writer"), troubles }
    };
    host.until("the end of a run", |status| {
        let outcome = look(&host);
        let watching =
            status["informers"].as_array().unwrap().iter().all(|informer| informer["phase"] == "watching");
        let done = outcome.lines.len() >= count && outcome.troubles.is_empty() && watching;
        done || !outcome.refusals().is_empty()
    })
    .await;
    let outcome = look(&host);
    host.stop().await;
    outcome
}

fn config() -> Config {
    configuration(&toml()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_printed_roles_are_sufficient_and_each_verb_is_necessary() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let admin = cluster.client(User::Admin).await.unwrap();
    prepare(&admin).await;
    let roles = Roles::create(admin.clone(), &config()).await;

    let outcome = run(&cluster).await;
    assert_eq!(outcome.refusals(), Vec::<&String>::new());
    assert!(outcome.lines.iter().all(|line| line.contains(" ok ")), "{:#?}", outcome.lines);

    let verbs = roles.verbs();
    assert!(verbs.len() >= 20, "{verbs:?}");
    for verb in verbs {
        roles.without(&verb).await;
        tidy(&admin).await;
        let outcome = run(&cluster).await;
        assert!(
            !outcome.refusals().is_empty(),
            "the run does not need {verb:?}: {:#?} {:#?}",
            outcome.lines,
            outcome.troubles
        );
        roles.with_all(&verb).await;
    }
    cluster.shutdown().await.unwrap();
}

/// Deletes objects that a failed run left behind.
async fn tidy(admin: &Client) {
    let maps: Api<ConfigMap> = Api::namespaced(admin.clone(), "shop");
    maps.delete("made", &Default::default()).await.ok();
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = Api::namespaced(admin.clone(), "shop");
    accounts.delete("applied", &Default::default()).await.ok();
}
