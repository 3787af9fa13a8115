//! The API server's side of the benchmark: a process of its own that sends what was rendered before.
//!
//! It serves the discovery of `v1`, the list of all pods by page, and their watch. Nothing happens on the
//! watch until `POST /emit?n=100000`; then so many MODIFIED frames go out as fast as the client takes them, each a
//! chunk of its own as the API server sends them, and a bookmark after the last. What the n-th event is
//! is fixed, so a watch can start at any resource version.

mod answer;
mod watch;

use std::{
    io::{Read, Write},
    net::Ipv4Addr,
    sync::Arc,
};

use anyhow::{Context, Result};
use axum::{
    Json, Router,
    extract::{Query, State},
    http::StatusCode,
    response::Response,
    routing::{get, post},
    serve::ListenerExt,
};
use serde::{Deserialize, Serialize};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch::Sender},
};

use crate::pods::{Pods, Recipe};

/// What the server says about itself, as one line of JSON on its standard output, once it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Where it listens.
    pub url: String,
    /// How many pods it serves.
    pub pods: usize,
    /// The mean length of a pod's JSON text, in bytes.
    pub mean_bytes: usize,
    /// How much of that is `metadata.managedFields`.
    pub mean_managed_fields_bytes: usize,
}

/// What all requests share.
#[derive(Clone)]
struct Served {
    pods: Arc<Pods>,
    page_size: usize,
    /// Events that may be sent, counted from the list on.
    emitted: Arc<Sender<u64>>,
}

/// The parameters of a list or a watch that matter here; clients send others too.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Parameters {
    watch: Option<String>,
    resource_version: String,
    limit: usize,
    #[serde(rename = "continue")]
    continue_token: String,
}

#[derive(Debug, Deserialize)]
struct Emission {
    n: u64,
}

/// Serves on a free port of the loopback until its standard input ends: whoever started it need not stop it.
///
/// # Errors
/// The pods cannot be made, or the port cannot be had.
pub async fn run(recipe: Recipe) -> Result<()> {
    let pods = Arc::new(Pods::generate(recipe)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen")?;
    let greeting = Greeting {
        url: format!("http://{}", listener.local_addr()?),
        pods: pods.len(),
        mean_bytes: pods.mean_bytes(),
        mean_managed_fields_bytes: pods.mean_managed_fields_bytes(),
    };
    let served = Served { pods, page_size: recipe.page_size, emitted: Arc::new(Sender::new(0)) };
    let ended = input_ended();
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&greeting)?).context("cannot say where it is")?;
    // No grace for connections: a watch never ends by itself.
    tokio::select! {
        biased;
        _ = ended => Ok(()),
        result = serve(listener, served) => result,
    }
}

async fn serve(listener: TcpListener, served: Served) -> Result<()> {
    // As client and server of Kubernetes both do. Only latency depends on it, and a failure would show there.
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, router(served)).await.context("the server stopped")
}

fn router(served: Served) -> Router {
    Router::new()
        .route("/api", get(answer::core_versions))
        .route("/apis", get(answer::groups))
        .route("/api/v1", get(answer::resources))
        .route("/api/v1/pods", get(pods))
        .route("/emit", post(emit))
        .with_state(served)
}

async fn pods(State(served): State<Served>, Query(parameters): Query<Parameters>) -> Response {
    match parameters.watch.as_deref() {
        Some("true" | "1") => watch::answer(&served, &parameters),
        _ => answer::list(&served, &parameters),
    }
}

/// Lets the watches send `n` more events.
async fn emit(State(served): State<Served>, Query(emission): Query<Emission>) -> (StatusCode, Json<u64>) {
    served.emitted.send_modify(|emitted| *emitted = emitted.saturating_add(emission.n));
    (StatusCode::OK, Json(*served.emitted.borrow()))
}

/// Resolves when nothing more comes on standard input. A thread waits for it: the runtime's own standard
/// input cannot be cancelled, and would hold the process up at its end.
fn input_ended() -> oneshot::Receiver<()> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin();
        let mut ignored = [0; 64];
        while matches!(input.read(&mut ignored), Ok(1..)) {}
        drop(sender);
    });
    receiver
}

#[cfg(test)]
mod tests;
