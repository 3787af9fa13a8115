//! Strangers on this machine that keep connections of a running host busy and never finish a request.

use std::{fs, time::Duration};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_system::descriptors;
use informer_tests::host::PATIENCE;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::binary::{Running, informer};
use crate::configmaps::ConfigMaps;

/// The files and connections that the attacked process may open.
const DESCRIPTORS: u32 = 256;

/// Far more connections than that.
const STRANGERS: usize = 2000;

/// A probe of Kubernetes waits for a second. A busy build machine gets more time.
const PROBE: Duration = Duration::from_secs(10);

const HALF_HEADER: &str = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";

/// The requests that the strangers send.
pub(super) const ATTACKS: [(&str, &str); 5] = [
    ("nothing", ""),
    ("half a header", HALF_HEADER),
    (
        "half a body",
        "POST /reload HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ),
    ("an idle connection", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("an HTTP/2 connection", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0"),
];

/// Opens connections to each address, sends this on each, and keeps them. A connection that the server refuses is left out.
async fn strangers(addresses: &[&str], text: &str) -> Vec<TcpStream> {
    descriptors::raise();
    let count = STRANGERS.min(usize::try_from(descriptors::limit() / 2).unwrap()) / addresses.len();
    assert!(count > 2 * DESCRIPTORS as usize, "this test needs more descriptors: `ulimit -n 4096`");
    let mut open = Vec::new();
    for address in addresses.iter().cycle().take(count * addresses.len()) {
        let mut stream = timeout(PATIENCE, TcpStream::connect(address)).await.unwrap().unwrap();
        if stream.write_all(text.as_bytes()).await.is_ok() {
            open.push(stream);
        }
    }
    open
}

/// Sends a request on a connection of its own. Returns the answer.
async fn probe(address: &str, path: &str) -> String {
    let asking = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    timeout(PROBE, asking).await.unwrap_or_else(|_| panic!("no answer to {path} within {PROBE:?}"))
}

#[tokio::test]
async fn probes_watches_and_reloads_go_on_while_strangers_hold_connections() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let directory = tempfile::tempdir().unwrap();
    let mut host = start(&directory, &server, "").await;
    let admin = host.admin().await;
    host.logged("plugin loaded").await;

    for (round, (what, text)) in ATTACKS.into_iter().enumerate() {
        let _open = strangers(&[&admin], text).await;

        for _ in 0..3 {
            let ready = probe(&admin, "/readyz").await;
            assert!(ready.starts_with("HTTP/1.1 200 OK\r\n"), "{what}: {ready}");
        }
        objects.create(&format!("round-{round}")).await;
        host.logged(&format!("add default/round-{round} ")).await;
        let reloaded = informer(&["reload", "--admin", &admin]).await;
        assert_eq!(reloaded.status, Some(0), "{what}: {}{}", reloaded.stdout, reloaded.stderr);
    }
    host.stop().await;
}

/// Other machines reach the health endpoint, and strangers on this machine reach both endpoints at once.
#[tokio::test]
async fn the_health_endpoint_answers_while_strangers_hold_connections_of_both_endpoints() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let directory = tempfile::tempdir().unwrap();
    let mut host = start(&directory, &server, "health = \"127.0.0.1:0\"\n").await;
    let (admin, health) = (host.admin().await, host.health().await);
    host.logged("plugin loaded").await;

    for (round, (what, text)) in ATTACKS.into_iter().enumerate() {
        let _open = strangers(&[&health, &admin], text).await;

        for path in ["/livez", "/readyz", "/metrics"] {
            let answer = probe(&health, path).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{what}: {path}: {answer}");
        }
        let ready = probe(&admin, "/readyz").await;
        assert!(ready.starts_with("HTTP/1.1 200 OK\r\n"), "{what}: {ready}");
        objects.create(&format!("round-{round}")).await;
        host.logged(&format!("add default/round-{round} ")).await;
    }
    host.stop().await;
}

#[tokio::test]
async fn the_embedded_api_server_answers_while_strangers_hold_connections() {
    let mut server = Running::start_limited(&["apiserver", "--output", "json"], DESCRIPTORS).await;
    let printed: Value = serde_json::from_str(&server.line().await).unwrap();
    let url = printed["url"].as_str().unwrap();
    let address = url.strip_prefix("http://").unwrap();

    for (round, (what, text)) in ATTACKS.into_iter().enumerate() {
        let _open = strangers(&[address], text).await;

        let ready = probe(address, "/readyz").await;
        assert!(ready.starts_with("HTTP/1.1 200 OK\r\n"), "{what}: {ready}");
        let objects = ConfigMaps::at(url).await;
        timeout(PROBE, objects.create(&format!("round-{round}"))).await.unwrap();
    }
    server.stop().await;
}

/// One connection may carry several requests at once, whose answers keep their order.
#[tokio::test]
async fn pipelined_requests_to_the_admin_endpoint_are_answered_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = start_without_plugins(&directory).await;
    let admin = host.admin().await;
    let mut stream = TcpStream::connect(&admin).await.unwrap();
    let request = |path: &str, last: bool| {
        let end = if last { "Connection: close\r\n" } else { "" };
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{end}\r\n")
    };
    let pipeline = [request("/livez", false), request("/nowhere", false), request("/livez", true)].concat();

    stream.write_all(pipeline.as_bytes()).await.unwrap();

    let mut answers = String::new();
    timeout(PROBE, stream.read_to_string(&mut answers)).await.unwrap().unwrap();
    let codes: Vec<&str> =
        answers.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.split(' ').next()).collect();
    assert_eq!(codes, ["200", "404", "200"], "{answers}");
    host.stop().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_for_the_admin_endpoint_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = start_without_plugins(&directory).await;
    let admin = host.admin().await;
    let mut stream = TcpStream::connect(&admin).await.unwrap();
    let body = format!("{{\"plugin\": \"{}\"}}", "x".repeat(70_000));
    let head = format!(
        "POST /reload HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );

    stream.write_all(head.as_bytes()).await.unwrap();
    // The server may close the connection before it has read everything.
    stream.write_all(body.as_bytes()).await.ok();

    let mut start = [0; 12];
    timeout(PROBE, stream.read_exact(&mut start)).await.unwrap().unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
    host.stop().await;
}

/// A host that may open [`DESCRIPTORS`]. `endpoint` are further lines of its table `[host]`.
async fn start(directory: &TempDir, server: &DevServer, endpoint: &str) -> Running {
    let path = directory.path().join("informer.toml");
    let configuration = format!(
        "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = \"off\"\n{endpoint}\
         [[watch]]\ngvr = \"v1/configmaps\"\n\
         [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        server.url(),
        guest("echo"),
    );
    fs::write(&path, configuration).unwrap();
    Running::start_limited(&["run", "--config", path.to_str().unwrap()], DESCRIPTORS).await
}

/// A host whose API server is its own.
async fn start_without_plugins(directory: &TempDir) -> Running {
    let path = directory.path().join("informer.toml");
    let text = "[host]\nadmin = \"127.0.0.1:0\"\n[[watch]]\ngvr = \"v1/configmaps\"\n";
    fs::write(&path, text).unwrap();
    Running::start(&["dev", "--config", path.to_str().unwrap()]).await
}
