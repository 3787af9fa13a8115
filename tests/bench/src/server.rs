//! The API server of the benchmark: a separate process that sends rendered answers.
//!
//! It serves the discovery of one kind, the list of all its objects in pages, and their watch. The watch is silent until
//! `POST /emit?n=100000`. Then it sends N MODIFIED frames as fast as the client reads them, each as a separate chunk like
//! the API server, and a bookmark after the last one. The n-th event is always the same, so a watch can start at any
//! resource version. `POST /pace?n=10000` sends N frames one after the other, one each millisecond, and `GET /sent` returns
//! when it sent each of them.

mod answer;
mod pace;
mod request;
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
use tokio::{net::TcpListener, sync::oneshot};

use pace::Pace;
use request::{Parameters, Served};

use crate::collection::{Collection, Kind, Recipe};

/// The line of JSON that the server prints on its standard output when it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The base URL of the server.
    pub url: String,
    /// The kind of the served objects.
    pub kind: Kind,
    /// The number of served objects.
    pub objects: usize,
    /// The mean size of an object as JSON, in bytes.
    pub mean_bytes: usize,
    /// The part of the mean size that is `metadata.managedFields`, in bytes.
    pub mean_managed_fields_bytes: usize,
}

#[derive(Debug, Deserialize)]
struct Emission {
    n: u64,
}

/// Serves on a free loopback port until standard input ends, so that the server ends together with its parent.
///
/// # Errors
/// The objects cannot be generated, or no port is free.
pub async fn run(recipe: Recipe) -> Result<()> {
    let collection = Arc::new(Collection::generate(recipe)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen")?;
    let greeting = Greeting {
        url: format!("http://{}", listener.local_addr()?),
        kind: recipe.kind,
        objects: collection.len(),
        mean_bytes: collection.mean_bytes(),
        mean_managed_fields_bytes: collection.mean_managed_fields_bytes(),
    };
    let served = Served::new(collection, recipe.page_size);
    let ended = input_ended();
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&greeting)?).context("cannot print the URL")?;
    // Do not wait for connections, because a watch never ends by itself.
    tokio::select! {
        biased;
        _ = ended => Ok(()),
        result = serve(listener, served) => result,
    }
}

async fn serve(listener: TcpListener, served: Served) -> Result<()> {
    // Clients and servers of Kubernetes set this option too. It only affects latency, where a failure would show.
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, router(served)).await.context("the server stopped")
}

fn router(served: Served) -> Router {
    let kind = served.collection.kind();
    Router::new()
        .route("/api", get(answer::core_versions))
        .route("/apis", get(answer::groups))
        .route(&kind.gvr().api_root(), get(answer::resources))
        .route(&kind.path(), get(objects))
        .route("/emit", post(emit))
        .route("/pace", post(pace))
        .route("/sent", get(sent))
        .with_state(served)
}

async fn objects(State(served): State<Served>, Query(parameters): Query<Parameters>) -> Response {
    match parameters.watch.as_deref() {
        Some("true" | "1") => watch::answer(&served, &parameters),
        _ => answer::list(&served, &parameters),
    }
}

/// Allows the watches to send `n` more events.
async fn emit(State(served): State<Served>, Query(emission): Query<Emission>) -> (StatusCode, Json<u64>) {
    served.emitted.send_modify(|emitted| *emitted = emitted.saturating_add(emission.n));
    (StatusCode::OK, Json(*served.emitted.borrow()))
}

/// Allows the watches to send `n` more events, one each millisecond from now on.
async fn pace(State(served): State<Served>, Query(emission): Query<Emission>) -> (StatusCode, Json<u64>) {
    served.pace.begin(*served.emitted.borrow());
    let emitted = Arc::clone(&served.emitted);
    tokio::spawn(Pace::count(emission.n, move || emitted.send_modify(|emitted| *emitted += 1)));
    (StatusCode::OK, Json(emission.n))
}

/// The times at which the paced events were sent, in order, in nanoseconds since 1970.
async fn sent(State(served): State<Served>) -> Json<Vec<u64>> {
    Json(served.pace.sent())
}

/// Resolves when standard input ends. A thread waits for that, because a read of the runtime's standard input cannot be
/// cancelled and would delay the exit of the process.
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
