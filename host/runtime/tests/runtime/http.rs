//! `wasi:http`: granted requests, and requests that the host denies to all plugins.

pub(crate) mod server;

use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::{BoxFuture, ready};
use informer_runtime::{
    LogLevel, LogStream,
    capabilities::{Fence, HttpConfig, HttpOutcome, Protected, Resolver, Ticket},
};
use informer_types::{FailureKind, Outcome};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::host::{PATIENCE, Running, Setup, component};
use server::{AUTHORITY, STRANGER, Server};

/// A resolver with a list of answers for each name. Each lookup of a name gets the next answer; the last one repeats.
#[derive(Default)]
pub(crate) struct Names {
    answers: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn new(answers: &[(&'static str, &[&[&str]])]) -> Arc<Self> {
        let read = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let answers = answers.iter().map(|(name, all)| (*name, all.iter().map(read).collect())).collect();
        Arc::new(Self { answers, asked: Mutex::default() })
    }
}

impl Resolver for Names {
    fn resolve(&self, name: String, _: Ticket) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut asked = self.asked.lock();
        let before = asked.iter().filter(|earlier| **earlier == name).count();
        let answer = self.answers.get(name.as_str()).and_then(|all| all.get(before).or(all.last()));
        asked.push(name);
        Box::pin(ready(answer.cloned().ok_or_else(|| io::Error::other("no such name"))))
    }
}

/// A plugin that makes these requests at each call.
fn fetching(requests: &[Value]) -> Setup {
    Setup::new(&json!({"requests": requests}).to_string())
}

pub(crate) fn get(authority: &str, path: &str) -> Value {
    json!({"authority": authority, "path": path})
}

/// Makes one call. Returns the guest's lines about answers and the host's lines about refusals.
async fn lines(running: &Running) -> (Vec<String>, Vec<String>) {
    running.log.clear();
    assert_eq!(running.add("a").await, Outcome::Acknowledged);
    let lines = running.log.lines();
    let of =
        |stream| lines.iter().filter(|line| line.stream == stream).map(|line| line.message.clone()).collect();
    (of(LogStream::Log), of(LogStream::Host))
}

#[tokio::test]
async fn a_granted_request_is_answered() {
    let server = Server::start().await;
    let authority = server.authority();
    let post = json!({
        "method": "POST", "authority": authority, "path": "/services/../services/c%6funt?q=/../..", "send_bytes": 10_000,
    });
    let running = fetching(&[get(&authority, "/services/x"), post])
        .http(&[&format!("http://{authority}/services/")])
        .load("fetch")
        .await;

    assert_eq!(lines(&running).await, (vec!["200 hello".into(), "200 10000".into()], vec![]));

    let seen = [format!("GET /services/x {authority}"), format!("POST /services/count?q=/../.. {authority}")];
    assert_eq!(server.seen(), seen, "the checked path is the path that was sent");
    let stats = running.plugin.stats().http;
    assert_eq!(stats.requests, [(HttpOutcome::Answered, 2)].into());
    assert_eq!((stats.sent_bytes, stats.received_bytes), (10_000, 10));
}

#[tokio::test]
async fn a_request_without_a_grant_never_leaves_the_host() {
    let server = Server::start().await;
    let (authority, port) = (server.authority(), server.address.port());
    let not_granted = "it is not granted; add it to `http` under [plugin.grant]";
    for (request, why) in [
        (get(&format!("127.0.0.1:{}", port - 1), "/a/"), not_granted),
        (get(&format!("127.0.0.2:{port}"), "/a/"), not_granted),
        (get(&format!("localhost:{port}"), "/a/"), not_granted),
        (json!({"scheme": "https", "authority": authority, "path": "/a/"}), not_granted),
        (get(&authority, "/b"), "its path is not below a granted one"),
        (get(&authority, "/a/../b"), "its path is not below a granted one"),
        (get(&authority, "/a/%2e%2e/b"), "its path is not below a granted one"),
        (
            get(&authority, "/a/..%2fb"),
            "its path hides `.` or `..` in percent-encoding, padding or similar characters",
        ),
        (
            get(&authority, "/a/%252e%252e/b"),
            "its path hides `.` or `..` in percent-encoding, padding or similar characters",
        ),
        (
            json!({"method": "DELETE", "authority": authority, "path": "/a/"}),
            "its method is not granted for this address",
        ),
        (
            json!({"method": "TRACE", "authority": authority, "path": "/a/"}),
            "plugins may use neither CONNECT nor TRACE",
        ),
        (
            json!({"method": "connect", "authority": authority, "path": "/a/"}),
            "plugins may use neither CONNECT nor TRACE",
        ),
        (
            json!({"method": "Trace", "authority": authority, "path": "/a/"}),
            "plugins may use neither CONNECT nor TRACE",
        ),
        (
            get(&authority, "/a/..%20/..%20/b"),
            "its path hides `.` or `..` in percent-encoding, padding or similar characters",
        ),
        (get(&authority, "/a/%c0%ae%c0%ae/b"), "its path is not UTF-8"),
        (get(&format!("2130706433:{port}"), "/a/"), "its host is an address in an unusual spelling"),
        (get(&format!("0x7f000001:{port}"), "/a/"), "its host is an address in an unusual spelling"),
        (get(&format!("0177.0.0.1:{port}"), "/a/"), "its host is an address in an unusual spelling"),
        (get(&format!("127.1:{port}"), "/a/"), "its host is an address in an unusual spelling"),
    ] {
        let running = fetching(std::slice::from_ref(&request))
            .http(&[&format!("GET,POST http://{authority}/a/")])
            .load("fetch")
            .await;

        let (guest, host) = lines(&running).await;

        assert_eq!(guest, ["HttpRequestDenied"], "{request}");
        assert!(host[0].ends_with(&format!("denied: {why}")), "{request}: {host:?}");
        assert_eq!(running.plugin.stats().http.requests, [(HttpOutcome::Denied, 1)].into());
    }
    assert_eq!(server.seen(), Vec::<String>::new());
}

/// The host keeps a request behind a handle even if it is never sent.
#[tokio::test]
async fn the_parts_of_a_request_are_limited() {
    let request = |key: &str, value: Value| {
        let mut request = get("a.example.com", "/");
        request[key] = value;
        request
    };
    for (fits, exceeds, told) in [
        (json!("X".repeat(32)), json!("X".repeat(33)), ("method", "the method is refused")),
        (json!("x".repeat(512)), json!("x".repeat(513)), ("authority", "the authority is refused")),
        (
            json!(format!("/{}", "x".repeat(16383))),
            json!(format!("/{}", "x".repeat(16384))),
            ("path", "the path is refused"),
        ),
    ] {
        let (key, told) = told;
        let requests = [request(key, fits), request(key, exceeds)];
        let running = fetching(&requests).http(&[]).load("fetch").await;

        let (guest, _) = lines(&running).await;

        assert_eq!(guest.len(), 2);
        assert!(!guest[0].contains("refused"), "{key}: {guest:?}");
        assert_eq!(guest[1], told, "{key}");
    }
    // WASI 0.2 has no such error for headers.
    let headers =
        |bytes: usize| fetching(&[request("headers", json!([["x-a", "x".repeat(bytes)]]))]).http(&[]);
    lines(&headers(16000).load("fetch").await).await;
    let failure = headers(16385).load("fetch").await.add_fails("a").await;
    assert!(failure.message.contains("total size of fields exceeds limit"), "{failure:?}");
}

#[tokio::test]
async fn the_handles_of_a_guest_are_limited() {
    let holding = |handles: usize| Setup::new(&json!({"requests": [], "handles": handles}).to_string());
    let few = holding(900).http(&[]).load("fetch").await;
    assert_eq!(few.add("a").await, Outcome::Acknowledged);

    let many = holding(1001).http(&[]).load("fetch").await;

    assert_eq!(many.add_fails("a").await.kind, FailureKind::Trap);
}

#[tokio::test]
async fn the_handles_of_a_guest_are_charged_to_its_memory() {
    let running = |handles: usize| {
        let setup = Setup::new(&json!({"requests": [], "handles": handles}).to_string()).http(&[]);
        setup.limits(|limits| limits.memory_bytes = 8 << 20).load("fetch")
    };
    let few = running(10).await;
    assert_eq!(few.add("a").await, Outcome::Acknowledged);
    let some = running(100).await;
    assert_eq!(some.add("a").await, Outcome::Acknowledged);
    let [before, after] = [few, some].map(|running| running.plugin.stats().memory_bytes);
    assert!(after - before >= 90 * (16 << 10), "each may have headers of 16 KiB: {before}, {after}");

    let many = running(900).await;

    let failure = many.add_fails("a").await;
    assert_eq!(failure.kind, FailureKind::Memory, "{failure}");
    assert!(failure.message.contains("more memory than its limit of 8388608 bytes"), "{failure}");
    assert_eq!(many.plugin.stats().memory_bytes, 0, "the instance is gone");
}

#[tokio::test]
async fn the_log_names_a_denied_request_without_the_secrets_of_its_url() {
    let request = json!({
        "method": "POST", "authority": "hooks.example.com", "path": "/T0/secret?token=hunter2",
        "headers": [["authorization", "Bearer hunter2"]],
    });
    let running = fetching(&[request]).http(&[]).load("fetch").await;

    let (guest, host) = lines(&running).await;

    assert_eq!(guest, ["HttpRequestDenied"]);
    let said = "http: POST http://hooks.example.com:80 denied: it is not granted; add it to `http` under [plugin.grant]";
    assert_eq!(host, [said]);
    assert!(running.log.lines().iter().any(|line| line.level == LogLevel::Warn));
}

#[tokio::test]
async fn no_name_leads_to_a_closed_address() {
    let server = Server::start().await;
    let port = server.address.port();
    for address in [
        "127.0.0.1",
        "::1",
        "0.0.0.0",
        "::",
        "::ffff:127.0.0.1",
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fd00:ec2::254",
        "fe80::1",
        "224.0.0.1",
    ] {
        let names = Names::new(&[("hooks.example.com", &[&["10.1.2.3", address]])]);
        let running = fetching(&[get(&format!("hooks.example.com:{port}"), "/")])
            .http(&[&format!("http://*.example.com:{port}/")])
            .http_config(HttpConfig { resolver: names, ..HttpConfig::default() })
            .load("fetch")
            .await;

        let (guest, host) = lines(&running).await;

        assert_eq!(guest, ["HttpRequestDenied"], "{address}");
        assert!(host[0].contains("the address of the name"), "{host:?}");
    }
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_rebound_name_is_checked_again_and_resolved_once_per_request() {
    let server = Server::start().await;
    let port = server.address.port();
    let names = Names::new(&[("a.example.com", &[&["169.254.1.1"], &["127.0.0.1"]])]);
    let request = get(&format!("a.example.com:{port}"), "/");
    let running = fetching(&[request.clone(), request])
        .http(&[&format!("http://a.example.com:{port}/")])
        .http_config(HttpConfig { resolver: Arc::clone(&names) as _, ..HttpConfig::default() })
        .load("fetch")
        .await;

    let (guest, host) = lines(&running).await;

    assert_eq!(guest, ["HttpRequestDenied", "HttpRequestDenied"]);
    assert!(host[0].contains("169.254.1.1") && host[1].contains("127.0.0.1"), "{host:?}");
    assert_eq!(names.asked.lock().len(), 2, "once per request");
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn no_address_or_name_leads_to_the_api_server() {
    let server = Server::start().await;
    let (authority, port) = (server.authority(), server.address.port());
    let names = Names::new(&[
        ("k8s.example.com", &[&["10.0.0.1", "10.0.0.2"]]),
        ("hooks.example.com", &[&["10.0.0.2"]]),
        ("denied.example.com", &[&["10.9.1.1"]]),
    ]);
    let protected = |host: &str, port| Protected { what: "the API server", host: host.to_owned(), port };
    let config = HttpConfig {
        resolver: names,
        protected: vec![protected("127.0.0.1", port), protected("k8s.example.com", 6443)],
        deny: vec!["10.9.0.0/16".parse().unwrap()],
        ..HttpConfig::default()
    };
    let running = fetching(&[
        get(&authority, "/api/v1/secrets"),
        get("hooks.example.com", "/"),
        get("10.0.0.1", "/"),
        get("denied.example.com", "/"),
    ])
    .http(&[&format!("http://{authority}/"), "http://*.example.com/", "http://10.0.0.1/"])
    .http_config(config)
    .load("fetch")
    .await;

    let (guest, host) = lines(&running).await;

    assert_eq!(guest, ["HttpRequestDenied"; 4]);
    let reasons: Vec<&str> = host.iter().map(|line| line.split(" denied: ").nth(1).unwrap()).collect();
    assert_eq!(
        reasons,
        [
            "127.0.0.1 is the API server",
            "10.0.0.2 is the API server",
            "10.0.0.1 is the API server",
            "10.9.1.1 is denied to all plugins by `http-deny` under [host]",
        ]
    );
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn while_the_address_of_the_api_server_is_unknown_every_request_is_denied() {
    let names = Names::new(&[("hooks.example.com", &[&["10.0.0.2"]])]);
    let protected =
        vec![Protected { what: "the API server", host: "k8s.example.com".to_owned(), port: 6443 }];
    let running = fetching(&[get("hooks.example.com", "/")])
        .http(&["http://hooks.example.com/"])
        .http_config(HttpConfig { resolver: names, protected, ..HttpConfig::default() })
        .load("fetch")
        .await;

    let (guest, host) = lines(&running).await;

    assert_eq!(guest, ["HttpRequestDenied"]);
    assert!(
        host[0].contains("the address of the API server, which no plugin may reach, cannot be resolved"),
        "{host:?}"
    );
}

struct Closed;

impl Fence for Closed {
    fn closed(&self) -> Option<&'static str> {
        Some("another host may lead now")
    }
}

/// The fence of a host that has lost its lease (E-9).
#[tokio::test]
async fn a_closed_fence_holds_every_request_back_and_the_guest_may_try_again() {
    let server = Server::start().await;
    let authority = server.authority();
    let running = fetching(&[get(&authority, "/")])
        .http(&[&format!("http://{authority}/")])
        .http_config(HttpConfig { fence: Some(Arc::new(Closed)), ..HttpConfig::default() })
        .load("fetch")
        .await;

    let (guest, host) = lines(&running).await;

    assert_eq!(guest, ["DestinationUnavailable"]);
    assert!(host[0].contains("another host may lead now"), "{host:?}");
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_redirect_is_an_answer_that_the_host_does_not_follow() {
    let server = Server::start().await;
    let authority = server.authority();
    let running = fetching(&[get(&authority, "/redirect")])
        .http(&[&format!("http://{authority}/")])
        .load("fetch")
        .await;

    assert_eq!(lines(&running).await.0, ["302 hello"]);
    assert_eq!(server.seen(), [format!("GET /redirect {authority}")]);
}

#[tokio::test]
async fn a_guest_can_set_neither_the_host_header_nor_credentials() {
    let server = Server::start().await;
    let authority = server.authority();
    let host = json!({"authority": authority, "headers": [["host", "internal"]]});
    let userinfo = get(&format!("{authority}@127.0.0.1:1"), "/");
    let running = fetching(&[host, userinfo]).http(&[&format!("http://{authority}/")]).load("fetch").await;

    let (guest, refused) = lines(&running).await;

    assert!(guest[0].starts_with("host: HeaderError::Forbidden"), "{guest:?}");
    assert_eq!(guest[1], "HttpRequestDenied");
    assert!(refused[0].ends_with("an unusable URL denied: it holds credentials"), "{refused:?}");
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn bodies_are_limited_in_each_direction() {
    let server = Server::start().await;
    let authority = server.authority();
    let send = |bytes: usize| json!({"method": "POST", "authority": authority, "path": "/count", "send_bytes": bytes});
    let declared = json!({
        "method": "POST", "authority": authority, "path": "/count", "send_bytes": 9000,
        "headers": [["content-length", "9000"]],
    });
    let running =
        fetching(&[send(8192), send(8193), declared, get(&authority, "/large"), get(&authority, "/endless")])
            .limits(|limits| limits.http_body_bytes = 8192)
            .http(&[&format!("http://{authority}/")])
            .load("fetch")
            .await;

    let (guest, host) = lines(&running).await;

    // wasmtime passes no code of a body's error to the guest; the log has it.
    let too_large = ["HttpRequestBodySize", "HttpRequestBodySize", "HttpResponseBodySize", "broken off"];
    assert_eq!(guest[0], "200 8192");
    assert_eq!(guest[1..], too_large);
    assert_eq!(
        host.last().unwrap(),
        &format!(
            "http: GET http://{authority}: the answer broke off: HTTP response body size exceeds limit: 8192 bytes"
        )
    );
    let stats = running.plugin.stats().http;
    // The last answer broke off after it had started.
    assert_eq!(stats.requests, [(HttpOutcome::Answered, 2), (HttpOutcome::TooLarge, 3)].into());
    assert!(stats.received_bytes < 100_000, "{stats:?}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_costs_the_deadline_of_one_call() {
    let server = Server::start().await;
    let authority = server.authority();
    for (path, told) in [("/silent", ["HttpResponseTimeout"; 2]), ("/stalls", ["broken off", "broke off"])] {
        let running = fetching(&[get(&authority, path)])
            .deadline(Duration::from_secs(2))
            .http(&[&format!("http://{authority}/")])
            .load("fetch")
            .await;
        let begun = Instant::now();

        let outcome = running.add("a").await;

        // The request and the call end at the same time: the guest may or may not receive the error in time, and an answer
        // that had started breaks off.
        match outcome {
            Outcome::Retry { failure, .. } => assert_eq!(failure.kind, FailureKind::Deadline),
            Outcome::Acknowledged => {
                let said = running.log.messages();
                let tells = |line: &String| told.iter().any(|told| line.contains(told));
                assert!(said.iter().any(tells), "{path}: {said:?}");
            }
            other => panic!("{other:?}"),
        }
        assert!(begun.elapsed() < PATIENCE);
        in_flight_ends(&running).await;
    }
}

#[tokio::test]
async fn a_guest_may_set_a_shorter_time_limit() {
    let server = Server::start().await;
    let authority = server.authority();
    let request = json!({"authority": authority, "path": "/silent", "first_byte_millis": 50});
    let running = fetching(&[request]).http(&[&format!("http://{authority}/")]).load("fetch").await;

    assert_eq!(lines(&running).await.0, ["HttpResponseTimeout"]);
    assert_eq!(running.plugin.stats().http.requests, [(HttpOutcome::TimedOut, 1)].into());
}

#[tokio::test]
async fn the_requests_of_a_plugin_in_flight_are_limited() {
    let server = Server::start().await;
    let authority = server.authority();
    let silent = json!({"authority": authority, "path": "/silent", "first_byte_millis": 2000});
    let config = json!({"requests": vec![silent; 4], "at_once": true}).to_string();
    let running = Setup::new(&config)
        .limits(|limits| limits.http_requests = 3)
        .http(&[&format!("http://{authority}/")])
        .load("fetch")
        .await;

    let (mut guest, host) = lines(&running).await;

    guest.sort();
    assert_eq!(guest[0], "ConnectionLimitReached");
    assert_eq!(guest[1..], ["HttpResponseTimeout"; 3]);
    assert!(host.iter().any(|line| line.contains("3 requests are in flight")), "{host:?}");
    in_flight_ends(&running).await;
}

#[tokio::test]
async fn a_failed_connection_has_an_error_code() {
    // It never listens, and keeps its port from the other tests.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed_port = closed.local_addr().unwrap().to_string();
    let server = Server::start().await;
    let running = fetching(&[
        get(&closed_port, "/"),
        get("nowhere.example.com", "/"),
        json!({"scheme": "https", "authority": server.authority()}),
    ])
    .http(&[
        &format!("http://{closed_port}/"),
        "http://*.example.com/",
        &format!("https://{}/", server.address),
    ])
    .http_config(HttpConfig {
        resolver: Names::new(&[]),
        extra_authorities: AUTHORITY.to_vec(),
        ..HttpConfig::default()
    })
    .load("fetch")
    .await;

    let (guest, _) = lines(&running).await;

    assert_eq!(guest, ["ConnectionRefused", "DnsError", "TlsProtocolError"]);
    assert_eq!(running.plugin.stats().http.requests, [(HttpOutcome::Failed, 3)].into());
}

#[tokio::test]
async fn tls_trusts_only_the_configured_authorities() {
    let server = Server::with_tls().await;
    let request = json!({"scheme": "https", "authority": server.authority(), "path": "/x"});
    for (authority, told) in [(AUTHORITY, "200 hello"), (STRANGER, "TlsCertificateError")] {
        let running = fetching(std::slice::from_ref(&request))
            .http(&[&format!("https://{}/", server.address)])
            .http_config(HttpConfig { extra_authorities: authority.to_vec(), ..HttpConfig::default() })
            .load("fetch")
            .await;

        assert_eq!(lines(&running).await.0, [told]);
    }
    assert_eq!(server.seen(), [format!("GET /x {}", server.address)]);
}

#[tokio::test]
async fn without_the_grant_the_component_is_refused_with_the_line_to_add() {
    let running = fetching(&[]).idle();

    let refused = running.plugin.load(&component("fetch").await).await.unwrap_err().to_string();

    assert!(refused.contains("imports wasi:http/"), "{refused}");
    let remedy = "add `http = [\"https://hooks.example.com/services/\"]` under [plugin.grant]";
    assert!(refused.ends_with(remedy), "{refused}");
    assert!(component("echo").await.check(&Default::default()).is_ok());
}

async fn in_flight_ends(running: &Running) {
    let begun = Instant::now();
    while running.plugin.stats().http.in_flight > 0 {
        assert!(begun.elapsed() < PATIENCE, "{:?}", running.plugin.stats().http);
        tokio::task::yield_now().await;
    }
}
