//! The parts that both endpoints of the host share: how they listen, and how they stop.

use std::{io, time::Duration};

use axum::{Json, Router, http::StatusCode};
use informer_system::{HttpAddress, HttpLimits, HttpListener, descriptors};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::types::Failed;

/// The most connections at once, far more than probes, commands and Prometheus need.
pub(crate) const CONNECTIONS: usize = 64;

/// The time in which a request must arrive as a whole. All clients are near.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most requests at once on a connection with HTTP/2.
const STREAMS: u32 = 8;

/// The answer to a request, or the reason why the request is refused.
pub(super) type Answer<T> = Result<Json<T>, (StatusCode, Json<Failed>)>;

/// An endpoint cannot listen on its address.
#[derive(Debug, thiserror::Error)]
#[error(
    "the {name} endpoint cannot listen on {address}: {why}; choose another address under [host] {name}, or \"off\""
)]
pub struct BindError {
    /// The key of `[host]`.
    name: &'static str,
    address: HttpAddress,
    why: String,
    source: io::Error,
}

/// A running endpoint.
#[derive(Debug)]
pub struct Endpoint {
    name: &'static str,
    address: HttpAddress,
    serving: JoinHandle<()>,
}

// === impl BindError ===

impl BindError {
    pub(super) fn new(name: &'static str, address: HttpAddress, source: io::Error) -> Self {
        Self { name, address, why: source.to_string(), source }
    }

    /// Returns true if another process listens there.
    pub(super) fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }

    pub(super) fn because(self, why: String) -> Self {
        Self { why, ..self }
    }
}

// === impl Endpoint ===

impl Endpoint {
    /// Listens at once, and answers until the token is cancelled. Programs that connect and neither send nor receive do not block
    /// others: at most 64 connections are open at once, a new one replaces the one that has waited longest for its client, and a
    /// request must arrive within 10 s. `name` is the key of `[host]` with the address.
    pub(super) async fn start(
        name: &'static str,
        address: HttpAddress,
        router: Router,
        token: CancellationToken,
    ) -> Result<Self, BindError> {
        let listener = match HttpListener::bind(address.clone(), limits()).await {
            Ok(listener) => listener,
            Err(source) => return Err(BindError::new(name, address, source)),
        };
        let address = listener.address();
        let serving = tokio::spawn(listener.serve(router, token));
        Ok(Self { name, address, serving })
    }

    /// The address that the endpoint listens on. If the configuration names port 0, this is the port that was chosen.
    pub fn address(&self) -> &HttpAddress {
        &self.address
    }

    /// Returns once the token is cancelled and the present requests are answered, at the latest at `until`. Slow requests
    /// are dropped then.
    pub async fn stopped(mut self, until: Instant) {
        let endpoint = self.name;
        match timeout_at(until, &mut self.serving).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(endpoint, %error, "an endpoint panicked"),
            Err(_) => {
                tracing::warn!(endpoint, "requests to an endpoint did not finish in time; they are dropped");
                self.serving.abort();
            }
        }
    }
}

/// The answer to a request that is refused.
pub(super) fn refusal(status: StatusCode, error: impl Into<String>) -> (StatusCode, Json<Failed>) {
    (status, Json(Failed { error: error.into() }))
}

/// Most descriptors of the process are for connections to the API server and for files.
fn limits() -> HttpLimits {
    let connections = usize::try_from(descriptors::limit() / 8).unwrap_or(CONNECTIONS).clamp(4, CONNECTIONS);
    // `stopped` bounds the wait for the last answers.
    HttpLimits { connections, patience: PATIENCE, streams: STREAMS, drain: Duration::MAX }
}
