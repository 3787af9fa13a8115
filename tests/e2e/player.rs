//! An API server that plays recorded lists and watch streams.

use std::{collections::BTreeMap, convert::Infallible, net::SocketAddr, path::Path, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{Request, Response, StatusCode, body::Frame, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A group-version and its recorded resources.
const RESOURCES: [(&str, &[&str]); 6] = [
    ("v1", &["configmaps", "events", "namespaces", "pods", "secrets"]),
    ("apps/v1", &["deployments", "replicasets"]),
    ("batch/v1", &["jobs"]),
    ("coordination.k8s.io/v1", &["leases"]),
    ("discovery.k8s.io/v1", &["endpointslices"]),
    ("example.com/v1", &[]),
];

/// One recorded resource.
pub(crate) struct Recording {
    /// The resource, as in `informer.toml`.
    pub(crate) gvr: String,
    list: Bytes,
    frames: Bytes,
}

/// A server that plays recordings until it is dropped.
pub(crate) struct Player {
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Player {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// All recordings.
pub(crate) fn recordings() -> Vec<Recording> {
    let mut found = Vec::new();
    for (group_version, resources) in RESOURCES {
        for resource in resources {
            found.push(Recording {
                gvr: format!("{group_version}/{resource}"),
                list: unpack(&format!("{resource}.list.json.zst")),
                frames: unpack(&format!("{resource}.watch.jsonl.zst")),
            });
        }
    }
    found
}

fn unpack(name: &str) -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(name);
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    zstd::decode_all(packed.as_slice()).unwrap().into()
}

impl Recording {
    /// The state of every object after the last frame, by namespace/name, and the keys of the deleted objects.
    pub(crate) fn final_state(&self) -> (BTreeMap<String, Value>, Vec<String>) {
        let mut objects = BTreeMap::new();
        let mut gone = Vec::new();
        let list: Value = serde_json::from_slice(&self.list).unwrap();
        for item in list["items"].as_array().unwrap() {
            objects.insert(key(item), item.clone());
        }
        for line in self.frames.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let frame: Value = serde_json::from_slice(line).unwrap();
            let object = &frame["object"];
            match frame["type"].as_str().unwrap() {
                "BOOKMARK" => {}
                "DELETED" => {
                    objects.remove(&key(object));
                    gone.push(key(object));
                }
                _ => {
                    gone.retain(|gone| *gone != key(object));
                    objects.insert(key(object), object.clone());
                }
            }
        }
        (objects, gone)
    }
}

/// The key of an object: `namespace/name`, or `name`.
pub(crate) fn key(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap();
    object["metadata"]["namespace"].as_str().map_or_else(|| name.to_owned(), |ns| format!("{ns}/{name}"))
}

/// Serves the recordings on a free port. Watch streams are cut into chunks of `chunk` bytes, at any position.
pub(crate) async fn play(chunk: usize) -> Player {
    let recordings = Arc::new(recordings());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let recordings = Arc::clone(&recordings);
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let recordings = Arc::clone(&recordings);
                    async move { Ok::<_, Infallible>(answer(&recordings, &request, chunk)) }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                connection.serve_connection(TokioIo::new(socket), service).await.ok();
            });
        }
    });
    Player { address, serving }
}

fn answer(
    recordings: &[Recording],
    request: &Request<hyper::body::Incoming>,
    chunk: usize,
) -> Response<Body> {
    let path = request.uri().path().trim_start_matches("/apis/").trim_start_matches("/api/");
    let query = request.uri().query().unwrap_or_default();
    if let Some((_, resources)) = RESOURCES.iter().find(|(group_version, _)| *group_version == path) {
        return whole(discovery(recordings, path, resources));
    }
    let Some(recording) = recordings.iter().find(|recording| recording.gvr == path) else {
        return respond(StatusCode::NOT_FOUND, Full::new(Bytes::new()).boxed_unsync());
    };
    // A server without streaming lists answers like this.
    if query.contains("sendInitialEvents=") {
        return respond(StatusCode::UNPROCESSABLE_ENTITY, Full::new(Bytes::new()).boxed_unsync());
    }
    if !query.contains("watch=") {
        return whole(recording.list.clone());
    }
    // A watch that resumes after the last frame has seen everything, so it stays silent.
    let listed: Value = serde_json::from_slice(&recording.list).unwrap();
    let listed = listed["metadata"]["resourceVersion"].as_str().unwrap();
    let from_the_list = query.split('&').any(|pair| pair == format!("resourceVersion={listed}"));
    let frames = if from_the_list { recording.frames.clone() } else { Bytes::new() };
    let chunks: Vec<_> = frames.chunks(chunk).map(|part| Ok(Frame::data(frames.slice_ref(part)))).collect();
    let body = StreamBody::new(stream::iter(chunks).chain(stream::pending()));
    respond(StatusCode::OK, BodyExt::boxed_unsync(body))
}

fn discovery(recordings: &[Recording], group_version: &str, resources: &[&str]) -> Bytes {
    let resources: Vec<Value> = resources
        .iter()
        .map(|resource| {
            let gvr = format!("{group_version}/{resource}");
            let recording = recordings.iter().find(|recording| recording.gvr == gvr).unwrap();
            let list: Value = serde_json::from_slice(&recording.list).unwrap();
            let kind = list["kind"].as_str().unwrap().trim_end_matches("List");
            json!({
                "name": resource, "singularName": "", "kind": kind,
                "namespaced": *resource != "namespaces", "verbs": ["get", "list", "watch"],
            })
        })
        .collect();
    let list = json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": group_version, "resources": resources,
    });
    list.to_string().into()
}

fn whole(body: Bytes) -> Response<Body> {
    respond(StatusCode::OK, Full::new(body).boxed_unsync())
}

fn respond(status: StatusCode, body: Body) -> Response<Body> {
    Response::builder().status(status).header("content-type", "application/json").body(body).unwrap()
}
