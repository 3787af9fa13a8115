//! A minimal client that shares no code with the server: HTTP/1.0, one connection for each request.

use std::time::Duration;

use informer_devserver::{Config, DevServer};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// The deadline for each expected answer or event.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// A server and a client for it.
pub(crate) struct Cluster {
    pub(crate) server: DevServer,
}

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// An open watch.
pub(crate) struct Watch {
    pub(crate) code: u16,
    reader: BufReader<TcpStream>,
}

/// The default configuration, but namespaces are emptied at once.
pub(crate) fn at_once() -> Config {
    Config { namespace_grace: Duration::ZERO, ..Config::default() }
}

// === impl Cluster ===

impl Cluster {
    pub(crate) async fn start() -> Self {
        Self::with(at_once()).await
    }

    pub(crate) async fn with(config: Config) -> Self {
        Self { server: DevServer::start(config).await.unwrap() }
    }

    async fn connect(&self, request: &str, body: &[u8]) -> (BufReader<TcpStream>, u16, String) {
        let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
        let head = format!("{request}Host: test\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses a large body may answer before it has read the whole body.
        let _ = stream.write_all(body).await;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).await.unwrap();
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        (reader, code, head.to_ascii_lowercase())
    }

    pub(crate) async fn raw(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let request = format!("{method} {path} HTTP/1.0\r\n{headers}");
        let exchange = async {
            let (mut reader, code, head) = self.connect(&request, body).await;
            let mut text = Vec::new();
            // An early refusal may be followed by a reset, but only after the answer.
            let _ = reader.read_to_end(&mut text).await;
            let body = serde_json::from_slice(&text)
                .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&text).into_owned()));
            Answer { code, head, body }
        };
        tokio::time::timeout(DEADLINE, exchange).await.expect("an answer in time")
    }

    pub(crate) async fn send(&self, method: &str, path: &str, media_type: &str, body: &Value) -> Answer {
        let headers = format!("Content-Type: {media_type}\r\n");
        self.raw(method, path, &headers, body.to_string().as_bytes()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.raw("GET", path, "", b"").await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.raw("GET", path, &format!("Accept: {accept}\r\n"), b"").await
    }

    /// Creates an object and expects success.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Value {
        let answer = self.send("POST", path, JSON, object).await;
        assert_eq!(answer.code, 201, "{}", answer.body);
        answer.body
    }

    pub(crate) async fn patch(&self, path: &str, media_type: &str, patch: &Value) -> Answer {
        self.send("PATCH", path, media_type, patch).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.raw("DELETE", path, "", b"").await
    }

    pub(crate) async fn watch(&self, path: &str) -> Watch {
        self.watch_as(path, JSON).await
    }

    pub(crate) async fn watch_as(&self, path: &str, accept: &str) -> Watch {
        let request = format!("GET {path} HTTP/1.0\r\nAccept: {accept}\r\n");
        let (reader, code, _) = self.connect(&request, b"").await;
        Watch { code, reader }
    }
}

// === impl Answer ===

impl Answer {
    /// Expects a `Status` with this code and reason. Returns the message.
    pub(crate) fn failure(&self, code: u16, reason: &str) -> String {
        assert_eq!(self.code, code, "{}", self.body);
        assert_eq!(self.body["kind"], "Status");
        assert_eq!(self.body["apiVersion"], "v1");
        assert_eq!(self.body["status"], "Failure");
        assert_eq!(self.body["code"], code);
        assert_eq!(self.body["reason"], reason, "{}", self.body);
        self.body["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The names of the objects in a list.
    pub(crate) fn names(&self) -> Vec<String> {
        let items = self.body["items"].as_array().unwrap_or_else(|| panic!("no list: {}", self.body));
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn version(&self) -> u64 {
        version(&self.body)
    }
}

// === impl Watch ===

impl Watch {
    /// The next event. Returns `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line);
        tokio::time::timeout(DEADLINE, read).await.expect("an event or the end, in time").unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// The type and name of the next event. Panics at the end of the stream.
    pub(crate) async fn event(&mut self) -> (String, String) {
        let event = self.next().await.expect("an event, not the end");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }

    /// Reads up to the first bookmark. Returns the events before the bookmark, and the bookmark.
    pub(crate) async fn until_bookmark(&mut self) -> (Vec<Value>, Value) {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.expect("a bookmark, not the end");
            if event["type"] == "BOOKMARK" {
                return (events, event);
            }
            events.push(event);
        }
    }
}

/// The resourceVersion of an object or a list.
pub(crate) fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().expect("a version").parse().expect("a decimal number")
}

pub(crate) fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

pub(crate) fn empty() -> Value {
    json!({})
}
