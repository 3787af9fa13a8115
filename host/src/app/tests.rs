//! The stop of a host, its readiness in the metrics, and a changed file of `http-ca`.

use std::fs;

use informer_devserver::DevServer;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{
    applier::tests::{config, start},
    *,
};

#[tokio::test]
async fn an_unfinished_request_does_not_hold_up_the_stop() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let mut config = config("");
    config.host.admin = Some(HttpAddress::Tcp("127.0.0.1:0".parse().unwrap()));
    config.host.shutdown_timeout = Duration::from_secs(1);
    let app = start(&server, config).await;
    let mut client = TcpStream::connect(app.admin_address().unwrap().tcp().unwrap()).await.unwrap();
    let half = "POST /reload HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 10\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(half.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    client.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100", "the server waits for the body");

    timeout(Duration::from_secs(60), app.stop()).await.unwrap();
    server.shutdown().await;
}

/// Alerts use only the metrics, so the metrics have to show the problems that `/readyz` and the status show.
#[tokio::test]
async fn a_host_that_is_not_ready_and_a_state_that_fails_are_in_the_metrics() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let mut config = config("");
    // No directory can be created below a file.
    config.host.state_dir = StateDir::At("/dev/null/state".into());
    // The component of the plugin is absent.
    let app = start(&server, config).await;

    let metrics = app.probe().metrics();

    for (name, value) in [
        ("informer_ready", " 0.0"),
        ("informer_state_failing", " 1.0"),
        ("informer_state_failures_total", " 1.0"),
    ] {
        let is_sample = |line: &str| line.starts_with(name) && line.ends_with(value);
        assert!(metrics.lines().any(is_sample), "{name}: {metrics}");
    }
    app.stop().await;
    server.shutdown().await;
}

/// The key stays the same, so only the content of its file shows that the host has to start again.
#[tokio::test]
async fn a_changed_file_of_authorities_waits_for_a_restart_until_it_is_as_at_the_start() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("ca.pem");
    fs::write(&file, "").unwrap();
    let mut config = config("");
    config.host.http_ca = Some(file.clone());
    let app = start(&server, config.clone()).await;
    let waiting = || app.probe().status().configuration.needs_restart;
    assert_eq!(app.apply(config.clone()).await.unwrap(), Report::default());

    fs::write(&file, "another authority").unwrap();
    let report = app.apply(config.clone()).await.unwrap();

    let verdicts: Vec<_> = report.changes.iter().map(|change| change.verdict).collect();
    assert_eq!(verdicts, [Verdict::NeedsRestart], "{report:?}");
    assert_eq!(waiting(), ["[host] http-ca"]);

    fs::write(&file, "").unwrap();
    app.apply(config).await.unwrap();
    assert!(waiting().is_empty());
    app.stop().await;
    server.shutdown().await;
}
