//! The command `informer status`, also while the API server fails.

use std::fs;

use http_body_util::BodyExt;
use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_faults::ReservedPort;
use informer_guests::guest;
use informer_tests::proxy::{FaultProxy, Mode};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::binary::{Finished, Running, informer, informer_with, until};
use crate::{
    answers::{Answer, Answers, healthy, is_list, is_watch},
    configmaps::ConfigMaps,
};

/// The timing decides how many failures the status counts.
const FAILED_AGAIN: &str = " times in ";

/// A running host and its admin address.
struct Host {
    running: Running,
    admin: String,
    _directory: TempDir,
}

impl Host {
    /// Starts a host whose plugin `echo` receives the ConfigMaps of the API server at `url`.
    async fn start(url: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("informer.toml");
        let configuration = format!(
            "[cluster]\nserver = \"{url}\"\n[host]\nadmin = \"127.0.0.1:0\"\n[[watch]]\ngvr = \"v1/configmaps\"\n\
             [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
            guest("echo"),
        );
        fs::write(&path, configuration).unwrap();
        let mut running = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let admin = running.admin().await;
        Self { running, admin, _directory: directory }
    }

    /// Polls the answer until it contains all these words. Returns its exit status and its text.
    async fn says(&self, words: &[&str]) -> (Option<i32>, String) {
        let complete = |answer: &Finished| words.iter().all(|words| answer.stdout.contains(words));
        let answer =
            until(&format!("reported {words:?}"), &["status", "--admin", &self.admin], complete).await;
        (answer.status, answer.stdout)
    }

    async fn json(&self) -> Value {
        informer(&["status", "--output", "json", "--admin", &self.admin]).await.json()
    }

    /// The status code and the text of `/readyz`.
    async fn readyz(&self) -> (u16, String) {
        let connection =
            connect(&Access::Server(format!("http://{}", self.admin).parse().unwrap())).await.unwrap();
        let request = http::Request::get("/readyz").body(kube::client::Body::empty()).unwrap();
        let answer = connection.client.send(request).await.unwrap();
        let code = answer.status().as_u16();
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(text.to_vec()).unwrap())
    }

    async fn stop(self) {
        self.running.stop().await;
    }
}

/// The problem disappears from the status when the server is up again (D-12).
#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_host_is_reported_as_healthy_and_a_server_is_reported_while_it_is_down() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let proxy = FaultProxy::start(server.address()).unwrap();
    ConfigMaps::at(&server.url()).await.create("something").await;
    let host = Host::start(&format!("http://{}", proxy.address())).await;
    let well = ": all is well\nwatch v1/configmaps: watching, synced, 1 object, resource version ";
    let (status, text) = host.says(&[well, "1 call acknowledged"]).await;
    assert_eq!(status, Some(0), "{text}");

    proxy.set(Mode::Refuse).await.unwrap();
    proxy.cut().await;
    let (status, _) = host
        .says(&[
            ": ready, but not everything works\n",
            "watch v1/configmaps: backing-off, synced, 1 object,",
            "cannot be reached: Connection refused",
            FAILED_AGAIN,
            "it is tried again in ",
            "what helps: start the API server, or correct its address",
        ])
        .await;
    assert_eq!(status, Some(1));
    let (code, ready) = host.readyz().await;
    // The host still serves.
    assert_eq!(code, 200, "{ready}");
    assert!(ready.starts_with("ok, but\nv1/configmaps: "), "{ready}");

    proxy.set(Mode::Pass).await.unwrap();
    let (status, _) = host.says(&[": all is well\n"]).await;
    assert_eq!(status, Some(0));
    let json = host.json().await;
    assert_eq!(json["informers"][0]["troubles"], serde_json::json!([]));
    assert_eq!(json["informers"][0]["reflectors"][0]["lag-ms"], 0);
    assert_eq!(host.readyz().await, (200, "ok".to_owned()));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_reported_as_slow() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let proxy = FaultProxy::start(server.address()).unwrap();
    proxy.set(Mode::Stall).await.unwrap();
    let host = Host::start(&format!("http://{}", proxy.address())).await;

    let slow = "  the API server has not answered the lookup of v1/configmaps yet; for ";
    let (status, _) = host.says(&[": not ready\n", slow]).await;

    assert_eq!(status, Some(1));
    let (code, reasons) = host.readyz().await;
    assert_eq!(code, 503);
    assert!(reasons.contains("the API server has not answered the lookup of v1/configmaps yet"), "{reasons}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_reported_with_the_rule_to_add() {
    let server = Answers::with(|uri| {
        if is_list(uri) {
            Answer::failure(403, "Forbidden", "configmaps is forbidden: User \"jane\" cannot list it")
        } else {
            healthy(uri)
        }
    })
    .await;
    let host = Host::start(&server.url()).await;

    let (status, text) = host.says(&[FAILED_AGAIN]).await;

    assert_eq!(status, Some(1));
    assert!(text.contains("403 Forbidden: configmaps is forbidden: User \"jane\" cannot list it"), "{text}");
    assert!(
        text.contains(
            "what helps: bind this identity to a ClusterRole with the rule {apiGroups: [\"\"], resources: \
             [\"configmaps\"], verbs: [\"list\", \"watch\"]}\n"
        ),
        "{text}"
    );
    let json = host.json().await;
    assert_eq!(json["informers"][0]["troubles"][0]["class"], "forbidden");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compacted_history_and_an_invalid_answer_are_reported_as_such() {
    let server = Answers::with(|uri| match is_watch(uri) {
        true => Answer::failure(410, "Expired", "too old resource version: 10 (99)"),
        false => healthy(uri),
    })
    .await;
    let host = Host::start(&server.url()).await;
    host.says(&[
        // The server starts to fail when the plugin serves.
        ": ready, but not everything works\n",
        "answered 410 Gone: too old resource version: 10 (99)",
        "what helps: the informer relists by itself, because the API server no longer has this resource version",
    ])
    .await;

    server.change(|_| Answer::new(200, "text/html", "<!doctype html><title>Log in</title>"));
    host.says(&[
        "answered with HTML, not JSON: is it an API server?",
        "what helps: check that the address is that of an API server and that no proxy changes its answers",
    ])
    .await;
    host.stop().await;
}

/// The endpoint speaks plain HTTP on loopback.
#[tokio::test]
async fn no_command_for_a_running_host_needs_certificate_authorities() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("web").await;
    let host = Host::start(&server.url()).await;
    super::binary::well(&host.admin).await;
    let nowhere = || ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(|variable| (variable, "/nowhere".into()));

    for command in [
        &["status"][..],
        &["queues"],
        &["dead-letters", "list"],
        &["explain", "v1/configmaps", "default/web"],
        &["log-level", "info"],
        &["reload"],
    ] {
        let answer = informer_with(&[command, &["--admin", &host.admin]].concat(), nowhere()).await;

        assert!(!answer.stderr.contains("no host answers"), "{command:?}: {}", answer.stderr);
        assert_eq!(answer.status, Some(0), "{command:?}: {}{}", answer.stdout, answer.stderr);
    }
    host.stop().await;
}

#[tokio::test]
async fn a_missing_host_is_reported_with_a_remedy() {
    let port = ReservedPort::reserve().unwrap();
    let address = port.address();

    let answer = informer(&["status", "--admin", &address.to_string()]).await;

    assert_eq!((answer.status, answer.stdout.as_str()), (Some(1), ""));
    let start = format!("informer: no host answers at {address}; is `informer run` running");
    assert!(answer.stderr.starts_with(&start), "{}", answer.stderr);

    let elsewhere = informer(&["status", "--admin", "192.0.2.1:80"]).await;
    assert_eq!(elsewhere.status, Some(2), "{}", elsewhere.stderr);
}

/// If an attacker makes a name resolve to this machine, the web pages of that name reach the endpoint (DNS
/// rebinding).
#[tokio::test]
async fn the_admin_endpoint_answers_local_programs_and_refuses_other_web_pages() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let host = Host::start(&server.url()).await;
    let own = host.admin.as_str();

    for (request, headers, status) in [
        ("GET /status", format!("Host: {own}\r\n"), "200"),
        ("GET /status", "Host: localhost:1\r\n".to_owned(), "200"),
        ("GET /status", "Host: evil.example.com\r\n".to_owned(), "403"),
        ("GET /metrics", "Host: evil.example.com\r\n".to_owned(), "403"),
        ("GET /nowhere", "Host: evil.example.com\r\n".to_owned(), "403"),
        ("POST /reload", "Host: evil.example.com\r\n".to_owned(), "403"),
        ("GET /status", format!("Host: {own}\r\nOrigin: http://{own}\r\n"), "200"),
        ("GET /status", format!("Host: {own}\r\nOrigin: http://evil.example.com\r\n"), "403"),
        ("GET /status", format!("Host: {own}\r\nOrigin: http://localhost\r\n"), "403"),
    ] {
        let mut connection = TcpStream::connect(own).await.unwrap();
        let request = format!("{request} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).await.unwrap();

        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}{answer}");
        assert_eq!(answer.contains("echo"), status == "200", "{request}{answer}");
    }
}
