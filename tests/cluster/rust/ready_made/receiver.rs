//! A receiver of the event exporter.

use std::sync::Arc;

use axum::{Router, extract::State, routing::post};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

/// It takes every event.
pub(super) struct Receiver {
    pub(super) url: String,
    received: Arc<Mutex<Vec<String>>>,
    _serving: AbortOnDropHandle<()>,
}

// === impl Receiver ===

impl Receiver {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<String>>> = Arc::default();
        let routes = Router::new().route("/events", post(take)).with_state(Arc::clone(&received));
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, received, _serving: AbortOnDropHandle::new(serving) }
    }

    /// The events so far, as `namespace/name count`.
    pub(super) fn received(&self) -> Vec<String> {
        self.received.lock().clone()
    }
}

async fn take(State(received): State<Arc<Mutex<Vec<String>>>>, body: String) {
    let body: Value = serde_json::from_str(&body).unwrap();
    received.lock().push(body["event"].as_str().unwrap().to_owned());
}
