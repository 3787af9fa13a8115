//! A receiver of Events.

use std::io;

use axum::{Router, routing::post};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

/// It takes everything.
pub(crate) struct Receiver {
    pub(crate) url: String,
    _serving: AbortOnDropHandle<()>,
}

// === impl Receiver ===

impl Receiver {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let routes = Router::new().route("/events", post(async || {}));
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap_or_default() });
        Ok(Self { url, _serving: AbortOnDropHandle::new(serving) })
    }
}
