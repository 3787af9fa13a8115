//! The health endpoint: probes and metrics for other machines, and nothing that changes or shows objects.

use std::fs;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::PATIENCE;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use super::binary::Running;
use crate::{
    answers::{Answer, Answers, healthy, is_list},
    configmaps::ConfigMaps,
};

/// The name of an object that no answer may have.
const OBJECT: &str = "a-private-object";

/// Starts a host with the plugins `echo`, which refuses nothing, and `broken`, which is no component.
async fn start(url: &str, health: &str, plugins: &[(&str, &str)]) -> (Running, String, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let mut text = format!(
        "[cluster]\nserver = \"{url}\"\n[host]\nadmin = \"off\"\nhealth = \"{health}\"\nstate-dir = \"off\"\n\
         [[watch]]\ngvr = \"v1/configmaps\"\n",
    );
    for (name, source) in plugins {
        text += &format!(
            "[[plugin]]\nname = \"{name}\"\nsource = {source:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n"
        );
    }
    fs::write(&path, text).unwrap();
    let mut host = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
    let address = host.health().await;
    (host, address, directory)
}

/// Sends a request as the kubelet does. Returns the status code and the text after it.
async fn ask(address: &str, request: &str) -> (u16, String) {
    ask_with(address, request, "").await
}

/// The same with these lines in the header.
pub(super) async fn ask_with(address: &str, request: &str, lines: &str) -> (u16, String) {
    let asking = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            format!("{request} HTTP/1.1\r\nHost: 10.1.2.3:8081\r\n{lines}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let answer = timeout(PATIENCE, asking).await.unwrap();
    let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap().parse().unwrap();
    (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// Asks again until the code is as expected. Returns the text.
pub(super) async fn until(address: &str, path: &str, expected: u16) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (code, text) = ask(address, &format!("GET {path}")).await;
        if code == expected {
            return text;
        }
        assert!(Instant::now() < deadline, "{path} never answered {expected}, but {code}: {text}");
        sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn the_health_endpoint_serves_probes_and_metrics_to_any_host_name_and_nothing_else() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create(OBJECT).await;
    let echo = guest("echo");
    let (mut host, address, _directory) =
        start(&server.url(), "0.0.0.0:0", &[("echo", echo.to_str().unwrap())]).await;
    host.logged(&format!("add default/{OBJECT} ")).await;

    assert_eq!(until(&address, "/readyz", 200).await, "ok");
    assert_eq!(ask(&address, "GET /livez").await, (200, "ok".to_owned()));
    assert_eq!(
        ask(&address, "GET /livez?verbose").await,
        (200, "[+]watch v1/configmaps ok\nlivez check passed\n".to_owned())
    );
    assert_eq!(
        ask(&address, "GET /readyz?verbose").await.1,
        "[+]watch v1/configmaps ok\n[+]plugin echo ok\n[+]state ok\n[+]configuration ok\nreadyz check passed\n"
    );
    let (code, metrics) = ask(&address, "GET /metrics").await;
    assert_eq!(code, 200);
    assert!(metrics.contains("informer_runtime_calls_total{plugin=\"echo\"} "), "{metrics}");
    assert!(!metrics.contains(OBJECT), "{metrics}");
    for (request, code) in [
        ("GET /status", 404),
        ("GET /queues", 404),
        ("GET /explain?gvr=v1/configmaps&key=default/a-private-object", 404),
        ("POST /dead-letters/list", 404),
        ("POST /reload", 404),
        ("POST /log-level", 404),
        ("GET /", 404),
        ("POST /readyz", 405),
        ("DELETE /metrics", 405),
        ("HEAD /livez", 200),
    ] {
        let (answered, text) = ask(&address, request).await;
        assert_eq!(answered, code, "{request}: {text}");
        assert!(!text.contains(OBJECT), "{request}: {text}");
    }
    host.stop().await;
}

#[tokio::test]
async fn readiness_names_each_plugin_without_a_version_and_each_watch_without_a_list_in_fixed_words() {
    let secret = format!("v1/configmaps default/{OBJECT} is not for you");
    let server = Answers::with({
        let secret = secret.clone();
        move |uri| match is_list(uri) {
            true => Answer::failure(403, "Forbidden", &secret),
            false => healthy(uri),
        }
    })
    .await;
    let (echo, directory) = (guest("echo"), tempfile::tempdir().unwrap());
    let broken = directory.path().join("broken.wasm");
    fs::write(&broken, "not a component").unwrap();
    let plugins = [("echo", echo.to_str().unwrap()), ("broken", broken.to_str().unwrap())];
    let (mut host, address, _directory) = start(&server.url(), "127.0.0.1:0", &plugins).await;
    host.log_up_to_all(&["the plugin cannot be loaded", "plugin loaded", &secret]).await;

    let failing = "[-]watch v1/configmaps failed: its first list is not in the cache\n\
                   [-]plugin broken failed: it has no version in service\nreadyz check failed\n";
    assert_eq!(ask(&address, "GET /readyz").await, (503, failing.to_owned()));
    let (_, verbose) = ask(&address, "GET /readyz?verbose").await;
    assert!(verbose.contains("[+]plugin echo ok\n"), "{verbose}");
    assert_eq!(ask(&address, "GET /livez").await, (200, "ok".to_owned()), "a restart would not help");

    // Once the list succeeds, its failure is gone; the plugin is loaded once its file is corrected.
    server.change(healthy);
    crate::reload::replace(&broken, &fs::read(&echo).unwrap());
    assert_eq!(until(&address, "/readyz", 200).await, "ok");
    host.stop().await;
}

#[tokio::test]
async fn the_health_endpoint_listens_on_both_families_with_one_address() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let (host, address, _directory) = start(&server.url(), "[::]:0", &[]).await;
    let port = address.rsplit_once(':').unwrap().1;

    for address in [format!("[::1]:{port}"), format!("127.0.0.1:{port}")] {
        assert_eq!(ask(&address, "GET /livez").await.0, 200, "{address}");
    }
    host.stop().await;
}

#[tokio::test]
async fn a_health_address_that_is_taken_ends_the_start_with_a_remedy() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let (host, address, _directory) = start(&server.url(), "127.0.0.1:0", &[]).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let text = format!(
        "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"off\"\nhealth = \"{address}\"\nstate-dir = \"off\"\n\
         [[watch]]\ngvr = \"v1/configmaps\"\n",
        server.url()
    );
    fs::write(&path, text).unwrap();

    let refused = super::binary::informer(&["run", "--config", path.to_str().unwrap()]).await;

    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    let words = format!("the health endpoint cannot listen on {address}: Address already in use");
    assert!(refused.stderr.contains(&words), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("choose another address under [host] health, or \"off\""),
        "{}",
        refused.stderr
    );
    host.stop().await;
}
