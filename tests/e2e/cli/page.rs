//! The page of the admin endpoint: its files, what browsers may do with them, and who may change the host.

use std::fs;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::PATIENCE;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::binary::{Running, well};
use crate::configmaps::ConfigMaps;

/// The most clients of the stream.
const CLIENTS: usize = 8;

/// A running host with one plugin and one ConfigMap.
struct Host {
    running: Running,
    own: String,
    server: DevServer,
    _directory: TempDir,
}

/// An answer as it came.
struct Answered(String);

impl Host {
    async fn start() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        ConfigMaps::at(&server.url()).await.create("web").await;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("informer.toml");
        let configuration = format!(
            "[cluster]\nserver = {:?}\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n\
             [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
            server.url(),
            guest("echo"),
        );
        fs::write(&path, configuration).unwrap();
        let mut running = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let own = running.admin().await;
        well(&own).await;
        Self { running, own, server, _directory: directory }
    }

    /// Sends a request with these headers besides `Host`.
    async fn send(&self, request: &str, headers: &str, body: &str) -> Answered {
        let mut connection = self.open(request, headers, body).await;
        let mut answer = Vec::new();
        timeout(PATIENCE, connection.read_to_end(&mut answer)).await.unwrap().unwrap();
        Answered(String::from_utf8(answer).unwrap())
    }

    async fn open(&self, request: &str, headers: &str, body: &str) -> TcpStream {
        let mut connection = TcpStream::connect(&self.own).await.unwrap();
        let length = body.len();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}",
            self.own
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        connection
    }

    /// The headers that a browser adds to a request of the host's own page.
    fn of_page(&self) -> String {
        format!(
            "Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\n",
            self.own
        )
    }

    async fn token(&self) -> String {
        let answer = self.send("GET /page/token", "informer-page: 1\r\n", "").await;
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    async fn stop(self) {
        self.running.stop().await;
    }
}

impl Answered {
    fn status(&self) -> &str {
        self.0.split(' ').nth(1).unwrap()
    }

    fn head(&self) -> &str {
        self.0.split("\r\n\r\n").next().unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(self.0.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

/// Reads the stream until it has this text.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut read = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&read).contains(text) {
            assert!(stream.read_buf(&mut read).await.unwrap() > 0, "the stream ended");
        }
    };
    assert!(timeout(PATIENCE, reading).await.is_ok(), "no {text} in {}", String::from_utf8_lossy(&read));
    String::from_utf8(read).unwrap()
}

#[tokio::test]
async fn every_answer_forbids_scripts_and_styles_of_others_and_frames() {
    let host = Host::start().await;

    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/page/files/app.js", "text/javascript; charset=utf-8"),
        ("/page/files/style.css", "text/css; charset=utf-8"),
        ("/page/files/nowhere.js", "application/json"),
        ("/page/letters", "application/json"),
        ("/status", "application/json"),
    ] {
        let answer = host.send(&format!("GET {path}"), "", "").await;
        let head = answer.head().to_ascii_lowercase();
        for header in [
            &format!("content-type: {kind}\r\n"),
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; ",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'; trusted-types 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "x-frame-options: deny",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(header), "{path}: {header} in {head}");
        }
        for allowed in ["unsafe", "access-control-allow", "http:", "*"] {
            assert!(!head.contains(allowed), "{path}: {allowed} in {head}");
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn a_foreign_page_gets_no_token_and_changes_nothing() {
    let host = Host::start().await;
    let (token, own) = (host.token().await, host.of_page());
    let json = "Content-Type: application/json\r\n";
    let with = format!("informer-token: {token}\r\n");

    for (request, headers) in [
        ("GET /page/token", String::new()),
        ("GET /page/token", "informer-page: 1\r\nOrigin: http://evil.example.com\r\n".to_owned()),
        ("GET /page/token", "informer-page: 1\r\nSec-Fetch-Site: cross-site\r\n".to_owned()),
        ("GET /page/token", "informer-page: 1\r\nSec-Fetch-Site: same-site\r\n".to_owned()),
        ("GET /page/live", "Sec-Fetch-Site: cross-site\r\n".to_owned()),
    ] {
        assert_eq!(host.send(request, &headers, "").await.status(), "403", "{request} {headers}");
    }
    let level = r#"{"level": "warn"}"#;
    for (path, body) in [
        ("/log-level", level),
        ("/reload", "{}"),
        ("/dead-letters/replay", r#"{"all": true}"#),
        ("/dead-letters/drop", r#"{"all": true}"#),
    ] {
        let request = format!("POST {path}");
        for headers in [
            // A form, and a fetch, of another page; and the own page without the token.
            "Origin: http://evil.example.com\r\nContent-Type: text/plain\r\n".to_owned(),
            format!("Origin: http://evil.example.com\r\n{json}{with}"),
            format!("Origin: null\r\n{json}{with}"),
            format!("Sec-Fetch-Site: cross-site\r\n{json}{with}"),
            own.clone(),
            format!("{own}informer-token: {}\r\n", "0".repeat(token.len())),
        ] {
            assert_eq!(host.send(&request, &headers, body).await.status(), "403", "{path} {headers}");
        }
        assert_eq!(host.send(&request, &format!("{own}{with}"), body).await.status(), "200", "{path}");
        assert_eq!(host.send(&request, json, body).await.status(), "200", "{path} of a program");
    }
    host.stop().await;
}

#[tokio::test]
async fn an_open_page_gets_everything_at_first_and_then_what_changes() {
    let host = Host::start().await;
    let mut stream = host.open("GET /page/live", "", "").await;

    let first = read_until(&mut stream, "\n\n").await;
    assert!(first.contains(r#"data: {"all":true,"#) && first.contains(r#""name":"echo""#), "{first}");
    let objects = ConfigMaps::at(&host.server.url()).await;
    objects.create("another").await;
    let next = read_until(&mut stream, r#""calls":2"#).await;
    assert!(next.contains(r#""all":false"#), "{next}");
    host.stop().await;
}

#[tokio::test]
async fn at_most_eight_pages_listen_and_a_closed_one_makes_room() {
    let host = Host::start().await;
    let mut open = Vec::new();
    for _ in 0..CLIENTS {
        let mut stream = host.open("GET /page/live", "", "").await;
        read_until(&mut stream, "data: ").await;
        open.push(stream);
    }
    assert_eq!(host.send("GET /page/live", "", "").await.status(), "503");
    assert_eq!(host.send("GET /status", "", "").await.status(), "200", "others are answered");

    open.pop();
    let listening = async {
        loop {
            let mut stream = host.open("GET /page/live", "", "").await;
            let mut start = [0; 12];
            stream.read_exact(&mut start).await.unwrap();
            if start.ends_with(b"200") {
                return;
            }
        }
    };
    timeout(PATIENCE, listening).await.unwrap();
    host.stop().await;
}

#[tokio::test]
async fn the_page_reads_plugins_letters_objects_lines_and_configuration() {
    let host = Host::start().await;
    let get = async |path: &str| {
        let answer = host.send(&format!("GET {path}"), "", "").await;
        assert_eq!(answer.status(), "200", "{path}");
        answer.json()
    };

    let called =
        async { while get("/page/plugin?name=echo").await["plugin"]["calls"]["acknowledged"] != 1 {} };
    timeout(PATIENCE, called).await.unwrap();
    assert_eq!(get("/page/letters?limit=9").await["total"], 0);
    let found = get("/page/objects?gvr=v1/configmaps&text=default/w").await;
    assert_eq!((&found["matching"], &found["keys"][0]), (&1.into(), &"default/web".into()));
    assert_eq!(get("/page/objects?gvr=v1/configmaps&text=nowhere").await["matching"], 0);
    let lines = get("/page/lines?plugin=echo").await;
    let said: Vec<_> =
        lines["lines"].as_array().unwrap().iter().map(|line| line["message"].clone()).collect();
    assert!(said.iter().any(|line| line.as_str().unwrap().contains("web")), "{said:?}");
    let after = lines["newest"].as_u64().unwrap();
    assert_eq!(get(&format!("/page/lines?plugin=echo&after={after}")).await["lines"], serde_json::json!([]));
    let keys = get("/page/configuration").await["keys"].clone();
    let name = serde_json::json!({"section": "plugin echo", "key": "name", "value": "\"echo\"", "before": null, "change": null});
    assert!(keys.as_array().unwrap().contains(&name), "{keys}");

    for (path, status) in [
        ("/page/plugin?name=absent", "404"),
        ("/page/objects?gvr=v1/nothing", "404"),
        ("/page/letters?limit=x", "400"),
    ] {
        assert_eq!(host.send(&format!("GET {path}"), "", "").await.status(), status, "{path}");
    }
    host.stop().await;
}
