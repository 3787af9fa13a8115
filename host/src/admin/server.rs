//! The server: liveness, readiness, status and commands over HTTP, on loopback.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Query, State, rejection::QueryRejection},
    http::{StatusCode, header::CONTENT_TYPE},
    middleware::from_fn,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use informer_system::{HttpLimits, HttpListener, descriptors};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    Probe, origin,
    types::{
        Chosen, DeadLetters, Dropped, ExplainRequest, Explanation, Failed, LogLevelRequest, Queues,
        ReloadRequest, Replays, Reported, Status,
    },
};
use crate::metrics;

/// The most connections at once, far more than probes, commands and Prometheus need.
pub(crate) const CONNECTIONS: usize = 64;

/// The time in which a request must arrive as a whole. All clients are on this machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most requests at once on a connection with HTTP/2.
const STREAMS: u32 = 8;

/// The most bytes of a request's body. The longest one names a plugin and a key.
const BODY_BYTES: usize = 64 << 10;

/// The endpoint cannot listen on its address.
#[derive(Debug, thiserror::Error)]
#[error(
    "the admin endpoint cannot listen on {address}: {source}; choose another address under [host] admin, or \"off\""
)]
pub struct AdminBindError {
    address: SocketAddr,
    source: std::io::Error,
}

/// A running endpoint.
#[derive(Debug)]
pub struct Admin {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

/// The answer to a request, or the reason why the request is refused.
type Answer<T> = Result<Json<T>, (StatusCode, Json<Failed>)>;

type Running = State<Arc<dyn Probe>>;

impl Admin {
    /// Listens at once, and answers until the token is cancelled.
    ///
    /// - `GET /livez`: 200 while the process runs.
    /// - `GET /readyz`: 200, or 503 with the reasons, one for each line. If something fails that does not keep the host
    ///   from serving, `ok` is followed by it: a watch that fails after its first list does not make the host unready,
    ///   because its plugins still have work and their caches.
    /// - `GET /status`: [`Status`].
    /// - `GET /metrics`: OpenMetrics text, which Prometheus reads; see METRICS.md.
    /// - `POST /reload` with a [`ReloadRequest`]: a [`Report`](super::types::Report) once the reload is done; 503 if the host takes no reload
    ///   now.
    /// - `POST /log-level` with a [`LogLevelRequest`]: 400 if there is no such level.
    /// - `GET /queues`: [`Queues`].
    /// - `POST /dead-letters/list`, `replay` and `drop` with a [`Chosen`]: 400 if `replay` or `drop` has neither a key nor
    ///   `"all": true`.
    /// - `GET /explain?gvr=v1/pods&key=shop/web`, with `&plugin=name` for one plugin: an [`Explanation`]; 404 if no watch
    ///   serves the resource.
    ///
    /// Programs of this machine are answered, pages in a browser are not: a request with an `Origin`, or with a `Host`
    /// that is neither `localhost` nor a loopback address, gets 403. Every request that changes something must have the
    /// content type of JSON.
    ///
    /// Programs that connect and do not send, or do not receive, keep no others from being answered: at most 64
    /// connections are open at once, a new one replaces the one that has waited longest for its client, a request must
    /// arrive within 10 s, and its body has at most 64 KiB (413).
    ///
    /// # Errors
    /// [`AdminBindError`] if the address cannot be used.
    pub async fn serve(
        address: SocketAddr,
        probe: Arc<dyn Probe>,
        token: CancellationToken,
    ) -> Result<Self, AdminBindError> {
        let listener = HttpListener::bind(address, limits())
            .await
            .map_err(|source| AdminBindError { address, source })?;
        let address = listener.address();
        let router = Router::new()
            .route("/livez", get(|| async { "ok" }))
            .route("/readyz", get(readyz))
            .route("/status", get(status))
            .route("/reload", post(reload))
            .route("/log-level", post(set_log_level))
            .route("/queues", get(queues))
            .route("/dead-letters/list", post(list_dead_letters))
            .route("/dead-letters/replay", post(replay))
            .route("/dead-letters/drop", post(drop_dead_letters))
            .route("/explain", get(explain))
            .route("/metrics", get(metrics))
            .fallback(unknown)
            .with_state(probe)
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .layer(from_fn(origin::check));
        let serving = tokio::spawn(listener.serve(router, token));
        Ok(Self { address, serving })
    }

    /// The address that the endpoint listens on. If the configuration names port 0, this is the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns once the token is cancelled and the present requests are answered, at the latest at `until`. Slow requests
    /// are dropped then.
    pub async fn stopped(mut self, until: Instant) {
        match timeout_at(until, &mut self.serving).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the admin endpoint panicked"),
            Err(_) => {
                tracing::warn!("requests to the admin endpoint did not finish in time; they are dropped");
                self.serving.abort();
            }
        }
    }
}

/// Most descriptors of the process are for connections to the API server and for files.
fn limits() -> HttpLimits {
    let connections = usize::try_from(descriptors::limit() / 8).unwrap_or(CONNECTIONS).clamp(4, CONNECTIONS);
    // `stopped` bounds the wait for the last answers.
    HttpLimits { connections, patience: PATIENCE, streams: STREAMS, drain: Duration::MAX }
}

async fn readyz(State(probe): Running) -> Response {
    let reasons = probe.unready();
    if !reasons.is_empty() {
        return (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n")).into_response();
    }
    let degraded = probe.degraded();
    if degraded.is_empty() {
        "ok".into_response()
    } else {
        format!("ok, but\n{}", degraded.join("\n")).into_response()
    }
}

async fn status(State(probe): Running) -> Json<Status> {
    Json(probe.status())
}

async fn reload(
    State(probe): Running,
    Json(ReloadRequest { plugin }): Json<ReloadRequest>,
) -> Answer<Reported> {
    let report = probe.reload(plugin).await;
    report.map(|report| Json(report.into())).map_err(|why| refusal(StatusCode::SERVICE_UNAVAILABLE, why))
}

async fn set_log_level(
    State(probe): Running,
    Json(request): Json<LogLevelRequest>,
) -> Answer<LogLevelRequest> {
    let LogLevelRequest { plugin, level } = &request;
    check_plugin(&*probe, plugin.as_deref())?;
    let set = probe.set_log_level(plugin.as_deref(), level);
    set.map_err(|why| refusal(StatusCode::BAD_REQUEST, why))?;
    Ok(Json(request))
}

async fn queues(State(probe): Running) -> Json<Queues> {
    Json(probe.queues())
}

async fn list_dead_letters(State(probe): Running, Json(chosen): Json<Chosen>) -> Answer<DeadLetters> {
    check_plugin(&*probe, chosen.plugin.as_deref())?;
    Ok(Json(probe.dead_letters(&chosen)))
}

async fn replay(State(probe): Running, Json(chosen): Json<Chosen>) -> Answer<Replays> {
    check_decided(&*probe, &chosen)?;
    Ok(Json(probe.replay(&chosen)))
}

async fn drop_dead_letters(State(probe): Running, Json(chosen): Json<Chosen>) -> Answer<Dropped> {
    check_decided(&*probe, &chosen)?;
    Ok(Json(probe.drop_dead_letters(&chosen)))
}

async fn explain(
    State(probe): Running,
    request: Result<Query<ExplainRequest>, QueryRejection>,
) -> Answer<Explanation> {
    let Query(request) = request.map_err(|error| refusal(StatusCode::BAD_REQUEST, error.body_text()))?;
    probe.explain(&request).map(Json).map_err(|error| refusal(StatusCode::NOT_FOUND, error))
}

async fn metrics(State(probe): Running) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], probe.metrics()).into_response()
}

async fn unknown() -> (StatusCode, Json<Failed>) {
    let paths = "there are /livez, /readyz, /status, /metrics, /reload, /log-level, /queues, /explain and /dead-letters";
    refusal(StatusCode::NOT_FOUND, paths)
}

fn refusal(status: StatusCode, error: impl Into<String>) -> (StatusCode, Json<Failed>) {
    (status, Json(Failed { error: error.into() }))
}

fn check_plugin(probe: &dyn Probe, plugin: Option<&str>) -> Result<(), (StatusCode, Json<Failed>)> {
    match plugin {
        Some(plugin) if !probe.has_plugin(plugin) => {
            Err(refusal(StatusCode::NOT_FOUND, format!("there is no plugin `{plugin}`")))
        }
        _ => Ok(()),
    }
}

fn check_decided(probe: &dyn Probe, chosen: &Chosen) -> Result<(), (StatusCode, Json<Failed>)> {
    check_plugin(probe, chosen.plugin.as_deref())?;
    chosen.undecided().map_or(Ok(()), |why| Err(refusal(StatusCode::BAD_REQUEST, why)))
}
