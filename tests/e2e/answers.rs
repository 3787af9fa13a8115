//! An API server with scripted answers.

use std::{io, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::{Response, StatusCode, Uri, body::Frame, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

type Script = Arc<dyn Fn(&Uri) -> Answer + Send + Sync>;

/// A server with scripted answers. It serves until it is dropped.
pub(crate) struct Answers {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    _serving: JoinSet<()>,
}

/// One HTTP answer.
pub(crate) struct Answer {
    status: u16,
    content_type: &'static str,
    body: Bytes,
    end: End,
}

/// What happens after the body.
#[derive(Clone, Copy)]
enum End {
    /// The answer ends.
    Whole,
    /// The connection breaks.
    Broken,
    /// The answer stays open, and nothing is sent.
    Open,
}

// === impl Answers ===

impl Answers {
    /// Serves on a free loopback port.
    pub(crate) async fn with(script: impl Fn(&Uri) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Arc::new(script)));
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, Arc::clone(&script)));
        Self { address, script, _serving: serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces the script.
    pub(crate) fn change(&self, script: impl Fn(&Uri) -> Answer + Send + Sync + 'static) {
        *self.script.lock() = Arc::new(script);
    }
}

async fn accept(listener: TcpListener, script: Arc<Mutex<Script>>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        let script = Arc::clone(&script);
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let script = Arc::clone(&script.lock());
                async move { Ok::<_, io::Error>(script(request.uri()).into_response()) }
            });
            // A broken answer ends in an error here, on purpose.
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await
                .ok();
        });
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status, content_type, body: body.into(), end: End::Whole }
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::new(200, "application/json", body.to_string())
    }

    /// A failure as Kubernetes reports it: a `Status`.
    pub(crate) fn failure(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code,
        });
        Self::new(code, "application/json", status.to_string())
    }

    /// A watch that sends these frames and stays open.
    pub(crate) fn watch(frames: &[Value]) -> Self {
        let body: String = frames.iter().map(|frame| format!("{frame}\n")).collect();
        Self { end: End::Open, ..Self::new(200, "application/json", body) }
    }

    /// Breaks the connection after `bytes` bytes of the body.
    pub(crate) fn broken_after(self, bytes: usize) -> Self {
        Self { body: self.body.slice(..bytes), end: End::Broken, ..self }
    }

    fn into_response(self) -> Response<UnsyncBoxBody<Bytes, io::Error>> {
        let body = stream::iter([Ok(Frame::data(self.body))]);
        let body = match self.end {
            End::Whole => body.boxed(),
            End::Broken => body.chain(stream::once(broken())).boxed(),
            End::Open => body.chain(stream::pending()).boxed(),
        };
        Response::builder()
            .status(StatusCode::from_u16(self.status).unwrap())
            .header("content-type", self.content_type)
            .body(StreamBody::new(body).boxed_unsync())
            .unwrap()
    }
}

/// Fails after the frames before it are sent, which breaks the connection.
async fn broken() -> io::Result<Frame<Bytes>> {
    tokio::task::yield_now().await;
    Err(io::Error::other("broken on purpose"))
}

/// The answers of a healthy server with one ConfigMap, `default/good`.
pub(crate) fn healthy(uri: &Uri) -> Answer {
    match uri.path() {
        "/api/v1" => Answer::json(&json!({
            "kind": "APIResourceList", "groupVersion": "v1", "resources": [{
                "name": "configmaps", "singularName": "configmap", "kind": "ConfigMap",
                "namespaced": true, "verbs": ["get", "list", "watch"],
            }],
        })),
        // A server without streaming lists answers like this.
        "/api/v1/configmaps" if has(uri, &["sendInitialEvents=true"]) => {
            Answer::failure(422, "Invalid", "sendInitialEvents is forbidden for watch")
        }
        "/api/v1/configmaps" if is_watch(uri) => Answer::watch(&[]),
        "/api/v1/configmaps" => list(&[configmap("good", "5")]),
        _ => Answer::failure(404, "NotFound", "the server could not find the requested resource"),
    }
}

/// Returns true for a LIST of ConfigMaps.
pub(crate) fn is_list(uri: &Uri) -> bool {
    uri.path() == "/api/v1/configmaps" && !has(uri, WATCH)
}

/// Returns true for a WATCH that is not a streaming list.
pub(crate) fn is_watch(uri: &Uri) -> bool {
    has(uri, WATCH) && !has(uri, &["sendInitialEvents=true"])
}

const WATCH: &[&str] = &["watch=true", "watch=1"];

/// Returns true if the request has one of these parameters.
fn has(uri: &Uri, parameters: &[&str]) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|pair| parameters.contains(&pair)))
}

/// A list of these ConfigMaps.
pub(crate) fn list(items: &[Value]) -> Answer {
    Answer::json(&json!({
        "kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "10"}, "items": items,
    }))
}

pub(crate) fn configmap(name: &str, version: &str) -> Value {
    json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}"), "resourceVersion": version},
    })
}
