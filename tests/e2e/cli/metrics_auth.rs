//! `metrics-auth = "kubernetes"`: the API server decides who may read the metrics.

use std::{convert::Infallible, fs, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};

use super::{
    binary::{Running, informer},
    health::{ask_with, until},
};

/// An API server that reviews tokens: `prometheus` may get `/metrics`, `curious` is an identity that may not.
struct Reviewing {
    address: SocketAddr,
    /// The reviews so far, with their specs.
    reviews: Arc<Mutex<Vec<(String, Value)>>>,
    serving: JoinSet<()>,
}

impl Reviewing {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, reviews) = (listener.local_addr().unwrap(), Arc::default());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&reviews)));
        Self { address, reviews, serving }
    }

    fn reviewed(&self, path: &str) -> Vec<Value> {
        let reviews = self.reviews.lock();
        reviews.iter().filter(|(at, _)| at.ends_with(path)).map(|(_, spec)| spec.clone()).collect()
    }

    /// Ends the server. Connections to it are refused.
    async fn stop(mut self) {
        self.serving.shutdown().await;
    }
}

async fn serve(listener: TcpListener, reviews: Arc<Mutex<Vec<(String, Value)>>>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        let reviews = Arc::clone(&reviews);
        let service = service_fn(move |request: Request<Incoming>| {
            let reviews = Arc::clone(&reviews);
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let path = head.uri.path().to_owned();
                let (code, answer) = match serde_json::from_slice::<Value>(&body) {
                    Ok(review) if head.method == Method::POST => {
                        reviews.lock().push((path.clone(), review["spec"].clone()));
                        (201, review_answer(&path, &review))
                    }
                    _ => (404, json!({"kind": "Status", "status": "Failure", "code": 404, "message": path})),
                };
                let answer = Response::builder()
                    .status(code)
                    .header("content-type", "application/json")
                    .body(Full::new(Bytes::from(answer.to_string())));
                Ok::<_, Infallible>(answer.unwrap())
            }
        });
        connections.spawn(async move {
            http1::Builder::new().serve_connection(TokioIo::new(socket), service).await.ok();
        });
    }
}

fn review_answer(path: &str, review: &Value) -> Value {
    let mut answer = review.clone();
    answer["status"] = if path.ends_with("/tokenreviews") {
        match review["spec"]["token"].as_str().unwrap() {
            "token-of-prometheus" => identity("prometheus"),
            "token-of-curious" => identity("curious"),
            _ => json!({"error": "invalid bearer token"}),
        }
    } else {
        json!({"allowed": review["spec"]["user"] == "prometheus"})
    };
    answer
}

fn identity(name: &str) -> Value {
    let user = json!({"username": name, "uid": "u-1", "groups": ["scrapers"], "extra": {"node": ["n1"]}});
    json!({"authenticated": true, "user": user})
}

async fn start(server: &Reviewing) -> (Running, String, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let text = format!(
        "[cluster]\nserver = \"http://{}\"\n[host]\nadmin = \"off\"\nhealth = \"127.0.0.1:0\"\n\
         metrics-auth = \"kubernetes\"\nstate-dir = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n",
        server.address
    );
    fs::write(&path, text).unwrap();
    let mut host = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
    let address = host.health().await;
    (host, address, directory)
}

async fn scrape(address: &str, token: &str) -> (u16, String) {
    let lines = format!("Authorization: Bearer {token}\r\nAccept: application/openmetrics-text\r\n");
    ask_with(address, "GET /metrics", &lines).await
}

#[tokio::test]
async fn only_an_identity_that_may_get_the_metrics_reads_them_and_probes_need_no_token() {
    let server = Reviewing::start().await;
    let (host, address, _directory) = start(&server).await;

    let (code, metrics) = scrape(&address, "token-of-prometheus").await;
    assert_eq!(code, 200);
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let (code, why) = scrape(&address, "token-of-curious").await;
    assert_eq!(code, 403, "{why}");
    assert!(why.contains("nonResourceURLs: [\"/metrics\"], verbs: [\"get\"]"), "{why}");
    assert_eq!(scrape(&address, "stolen").await.0, 401);
    assert_eq!(ask_with(&address, "GET /metrics", "").await.0, 401);
    assert_eq!(ask_with(&address, "HEAD /metrics", "").await.0, 401);
    until(&address, "/livez", 200).await;
    until(&address, "/readyz", 200).await;

    for _ in 0..10 {
        assert_eq!(scrape(&address, "token-of-prometheus").await.0, 200);
    }
    assert_eq!(server.reviewed("/tokenreviews").len(), 3, "answers are remembered");
    assert_eq!(
        server.reviewed("/subjectaccessreviews")[0],
        json!({"user": "prometheus", "uid": "u-1", "groups": ["scrapers"], "extra": {"node": ["n1"]},
               "nonResourceAttributes": {"path": "/metrics", "verb": "get"}})
    );
    host.stop().await;
}

#[tokio::test]
async fn an_api_server_that_does_not_review_gives_a_reason_and_the_log_the_cause() {
    let server = Reviewing::start().await;
    let (mut host, address, _directory) = start(&server).await;
    server.stop().await;

    let (code, why) = scrape(&address, "token-of-prometheus").await;

    assert_eq!(
        (code, why.as_str()),
        (503, "the API server does not review the token: it cannot be reached\n")
    );
    let line = host.logged("does not review the tokens of those who read the metrics").await;
    assert!(line.contains("Connection refused") && !line.contains("token-of"), "{line}");
    assert_eq!(ask_with(&address, "GET /livez", "").await.0, 200);
    host.stop().await;
}

#[tokio::test]
async fn rbac_prints_the_rules_for_the_reviews() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let text =
        "[host]\nhealth = \"[::]:8081\"\nmetrics-auth = \"kubernetes\"\n[[watch]]\ngvr = \"v1/configmaps\"\n";
    fs::write(&path, text).unwrap();

    let printed = informer(&["rbac", "--output", "json", "--config", path.to_str().unwrap()]).await.json();

    let role = &printed["items"][0];
    assert_eq!(role["kind"], "ClusterRole");
    assert_eq!(
        role["rules"],
        json!([
            {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
            {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
        ])
    );
}
