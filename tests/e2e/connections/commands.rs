//! Credentials that a command of the kubeconfig gives, as an API server sees them that asks for them.

use std::{fs, path::PathBuf, sync::Arc};

use informer::{
    config::Access,
    connect::{Connection, connect},
};
use informer_tests::host::TestHost;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    WATCH,
    middlebox::{Kind, Middlebox},
    reader, server, tls,
};
use crate::configmaps::ConfigMaps;

/// A kubeconfig whose user runs a script.
struct Kubeconfig(TempDir);

// === impl Kubeconfig ===

impl Kubeconfig {
    /// The script prints the file `answer`.
    fn new(server: &str) -> Self {
        let kubeconfig = Self(TempDir::new().unwrap());
        let script =
            "cd \"$(dirname \"$0\")\"; echo >> runs; printf %s \"$KUBERNETES_EXEC_INFO\" > info; cat answer";
        fs::write(kubeconfig.path("script"), script).unwrap();
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "clusters": [{ "name": "a", "cluster": {
                "server": server, "certificate-authority": tls::certificate("authority.pem"),
                "extensions": [{ "name": "client.authentication.k8s.io/exec", "extension": { "audience": "test" } }],
            } }],
            "users": [{ "name": "me", "user": { "exec": {
                "apiVersion": "client.authentication.k8s.io/v1beta1", "command": "sh",
                "args": [kubeconfig.path("script")], "provideClusterInfo": true,
            } } }],
            "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "me" } }],
        });
        fs::write(kubeconfig.path("kubeconfig"), text.to_string()).unwrap();
        kubeconfig
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The script prints this status from now on.
    fn give(&self, status: &Value) {
        let answer = json!({
            "apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": status,
        });
        fs::write(self.path("new"), answer.to_string()).unwrap();
        fs::rename(self.path("new"), self.path("answer")).unwrap();
    }

    async fn connect(&self) -> Connection {
        connect(&Access::Kubeconfig { path: Some(self.path("kubeconfig")), context: None }).await.unwrap()
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.path("runs")).unwrap().lines().count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_follows_the_token_of_a_command_and_runs_it_again_after_an_answer_401() {
    let server = server().await;
    let token = Arc::new(Mutex::new("Bearer one".to_owned()));
    let guard = Middlebox::start(Kind::Guarded(Arc::clone(&token)), server.address()).await;
    let kubeconfig = Kubeconfig::new(&guard.url());
    kubeconfig.give(&json!({ "token": "one" }));
    let host =
        TestHost::start_with(kubeconfig.connect().await, &format!("{WATCH}{}", reader())).await.unwrap();
    host.synced().await;
    host.lines.until("writer", "an answer", |lines| !lines.is_empty()).await;
    assert!(host.lines.of("writer")[0].starts_with("get ok "), "{:?}", host.lines.of("writer"));
    assert_eq!(kubeconfig.runs(), 1);
    let info: Value = serde_json::from_str(&fs::read_to_string(kubeconfig.path("info")).unwrap()).unwrap();
    assert_eq!(info["spec"]["interactive"], false);
    assert_eq!(info["spec"]["cluster"]["server"], guard.url());
    assert_eq!(info["spec"]["cluster"]["config"]["audience"], "test");

    *token.lock() = "Bearer two".to_owned();
    kubeconfig.give(&json!({ "token": "two" }));
    ConfigMaps::of(&server.url(), "kube-system").await.create("trigger").await;
    host.lines.until("writer", "a refusal", |lines| lines.len() > 1).await;
    assert!(host.lines.of("writer")[1].starts_with("get error "), "{:?}", host.lines.of("writer"));
    ConfigMaps::of(&server.url(), "kube-public").await.create("trigger").await;
    host.lines.until("writer", "an answer again", |lines| lines.len() > 2).await;
    assert!(host.lines.of("writer")[2].starts_with("get ok "), "{:?}", host.lines.of("writer"));
    assert_eq!(kubeconfig.runs(), 2);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_names_the_place_of_credentials_that_the_api_server_refuses() {
    let server = server().await;
    let guard = Middlebox::start(Kind::Guarded(Arc::default()), server.address()).await;
    let kubeconfig = Kubeconfig::new(&guard.url());
    kubeconfig.give(&json!({ "token": "refused" }));
    let (token, path) = (kubeconfig.path("token"), kubeconfig.path("kubeconfig"));
    fs::write(&token, "refused").unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("\"exec\":", "\"tokenFile\":\"token\",\"other\":");
    fs::write(kubeconfig.path("with-a-file"), text).unwrap();
    for (file, place) in [
        (
            "kubeconfig",
            format!("run the command `sh` of the user me in the kubeconfig {} by hand", path.display()),
        ),
        (
            "with-a-file",
            format!("write a valid token to {}; this host reads the file again", token.display()),
        ),
    ] {
        let access = Access::Kubeconfig { path: Some(kubeconfig.path(file)), context: None };
        let connection = connect(&access).await.unwrap();
        let host = TestHost::start_with(connection, &format!("{WATCH}{}", reader())).await.unwrap();

        host.until("the refusal", |status| {
            let status = status.to_string();
            status.contains("answered 401 Unauthorized") && status.contains(&place)
        })
        .await;

        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_says_which_command_gives_no_credentials_and_the_watch_starts_once_it_does() {
    let server = server().await;
    let token = Arc::new(Mutex::new("Bearer one".to_owned()));
    let guard = Middlebox::start(Kind::Guarded(token), server.address()).await;
    let kubeconfig = Kubeconfig::new(&guard.url());
    let host =
        TestHost::start_with(kubeconfig.connect().await, &format!("{WATCH}{}", reader())).await.unwrap();

    let expected = "was not asked, because there are no credentials: the command `sh` of the user me in the kubeconfig \
                    failed with exit status 1; the log has the end of what it printed to standard error";
    host.until("the failure", |status| status.to_string().contains(expected)).await;

    kubeconfig.give(&json!({ "token": "one" }));
    host.synced().await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_shows_the_client_certificate_of_a_command_and_the_next_one_when_it_has_expired() {
    let server = server().await;
    let guard = Middlebox::with_tls(tls::acceptor(tls::Clients::Must), Kind::Open, server.address()).await;
    let kubeconfig = Kubeconfig::new(&format!("https://{}", guard.address()));
    let identity = |name: &str| {
        json!({
            "clientCertificateData": tls::text_of(&format!("{name}.pem")),
            "clientKeyData": tls::text_of(&format!("{name}.key")),
            "expirationTimestamp": "2001-01-01T00:00:00Z",
        })
    };
    kubeconfig.give(&identity("one"));
    let connection = kubeconfig.connect().await;
    connection.client.apiserver_version().await.unwrap();
    assert!(guard.shown().iter().all(|shown| *shown == Some("one")), "{:?}", guard.shown());

    kubeconfig.give(&identity("two"));
    connection.client.apiserver_version().await.unwrap();
    assert_eq!(guard.shown().last(), Some(&Some("two")));
}
