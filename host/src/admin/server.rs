//! The admin endpoint: liveness, readiness and status over HTTP, on loopback.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Json, Router,
    extract::{Query, State, rejection::QueryRejection},
    http::{StatusCode, header::CONTENT_TYPE},
    middleware::from_fn,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::origin;
use crate::{
    commands::{dead_letters::Chosen, explain::Asked},
    metrics,
};

/// What the endpoint asks the running host.
pub trait Probe: Send + Sync + 'static {
    /// Why the host is not ready, one sentence each; empty: it is.
    fn unready(&self) -> Vec<String>;

    /// What is wrong although the host serves from what it had last, one sentence each; empty: all is well.
    fn degraded(&self) -> Vec<String>;

    /// Every informer, plugin and queue, with its state and counters. No object bodies, no secrets.
    fn status(&self) -> Value;

    /// Looks at the files again, or at the component of one plugin, and says what came of it.
    ///
    /// # Errors
    /// Why the host does not do it now.
    fn reload(&self, plugin: Option<String>) -> BoxFuture<'_, Result<Value, String>>;

    /// Changes from which level on the lines of a plugin are kept; none: what the host itself logs, where it may be a
    /// whole filter. `default` is as it was configured. It holds until the next start.
    ///
    /// # Errors
    /// There is no such plugin or level; the text says what there is.
    fn set_log_level(&self, plugin: Option<&str>, level: &str) -> Result<(), String>;

    /// The queue of each plugin.
    fn queues(&self) -> Value;

    /// The chosen dead letters.
    fn dead_letters(&self, chosen: &Chosen) -> Value;

    /// Tells the plugins the chosen ones again; which, and which not and why.
    fn replay(&self, chosen: &Chosen) -> Value;

    /// Forgets the chosen ones; which.
    fn drop_dead_letters(&self, chosen: &Chosen) -> Value;

    /// What is known of one object: where it stands, and the last steps of each stage.
    ///
    /// # Errors
    /// Nobody watches its resource; which are watched.
    fn explain(&self, asked: &Asked) -> Result<Value, String>;

    /// True for a plugin of the configuration.
    fn has_plugin(&self, name: &str) -> bool;

    /// The same in figures, as OpenMetrics text.
    fn metrics(&self) -> String;
}

/// What is to be looked at again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReloadRequest {
    /// The component of this plugin; none: the configuration and every component.
    #[serde(default)]
    pub plugin: Option<String>,
}

/// From which level on lines are kept from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LogLevelRequest {
    /// Whose lines; none: those of the host.
    #[serde(default)]
    pub plugin: Option<String>,
    /// A level, or `default`; of the host, also a whole filter.
    pub level: String,
}

/// The address cannot be served on.
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

impl Admin {
    /// Listens at once; answers until the token is cancelled.
    ///
    /// - `GET /livez`: 200 while the process runs.
    /// - `GET /readyz`: 200, or 503 with the reasons, one a line. `ok`, where something is wrong that does not keep
    ///   the host from serving, is followed by what it is: a watch that fails after its first list does not make a
    ///   host unready, for its plugins still have work and their caches.
    /// - `GET /status`: JSON.
    /// - `GET /metrics`: OpenMetrics text, which Prometheus reads; see METRICS.md.
    /// - `POST /reload` of `{}` or `{"plugin": "name"}`: JSON, once it is done: what changed, or what is wrong with the
    ///   files. 503 where the host takes no reloads now.
    /// - `POST /log-level` of a `level`, and a `plugin` or none: 400 where there is no such level.
    /// - `GET /queues`: JSON.
    /// - `POST /dead-letters/list`, `replay`, `drop`: which ones as JSON, by plugin, gvr and key; the latter two want a
    ///   key, or `"all": true`.
    /// - `GET /explain?gvr=v1/pods&key=shop/web`, with `&plugin=name` for one alone: JSON; 404 where nobody watches the
    ///   resource.
    ///
    /// It is for programs of this machine, and not for pages in a browser: a request that a page made, or whose `Host` is
    /// another name than `localhost` and no loopback address, is 403; and whatever changes something takes JSON, said to
    /// be JSON, and nothing else.
    ///
    /// # Errors
    /// [`AdminBindError`] where the address cannot be listened on.
    pub async fn serve(
        address: SocketAddr,
        probe: Arc<dyn Probe>,
        token: CancellationToken,
    ) -> Result<Self, AdminBindError> {
        let fail = |source| AdminBindError { address, source };
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
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
            .layer(from_fn(origin::check));
        let serving = tokio::spawn(async move {
            let stop = token.cancelled_owned();
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stop).await {
                tracing::error!(%error, "the admin endpoint ended");
            }
        });
        Ok(Self { address, serving })
    }

    /// Where it listens; the port is known even if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns once the token is cancelled and the requests in hand are answered, or it is `until` then. Who is slow to ask
    /// is not waited for longer.
    pub async fn stopped(mut self, until: Instant) {
        match timeout_at(until, &mut self.serving).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the admin endpoint panicked"),
            Err(_) => {
                tracing::warn!("requests to the admin endpoint were not finished in time; they are dropped");
                self.serving.abort();
            }
        }
    }
}

async fn readyz(State(probe): State<Arc<dyn Probe>>) -> Response {
    let reasons = probe.unready();
    if reasons.is_empty() {
        let degraded = probe.degraded();
        return if degraded.is_empty() { "ok".into_response() } else { ok_but(&degraded).into_response() };
    }
    (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n")).into_response()
}

fn ok_but(degraded: &[String]) -> String {
    format!("ok, but\n{}", degraded.join("\n"))
}

async fn status(State(probe): State<Arc<dyn Probe>>) -> Json<Value> {
    Json(probe.status())
}

async fn reload(
    State(probe): State<Arc<dyn Probe>>,
    Json(ReloadRequest { plugin }): Json<ReloadRequest>,
) -> Response {
    match probe.reload(plugin).await {
        Ok(report) => Json(report).into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"error": why}))).into_response(),
    }
}

async fn set_log_level(State(probe): State<Arc<dyn Probe>>, Json(wanted): Json<LogLevelRequest>) -> Answer {
    let LogLevelRequest { plugin, level } = &wanted;
    there_is(&*probe, plugin.as_deref())?;
    match probe.set_log_level(plugin.as_deref(), level) {
        Ok(()) => Ok(Json(json!(wanted))),
        Err(error) => Err((StatusCode::BAD_REQUEST, Json(json!({"error": error})))),
    }
}

async fn queues(State(probe): State<Arc<dyn Probe>>) -> Json<Value> {
    Json(probe.queues())
}

async fn list_dead_letters(State(probe): State<Arc<dyn Probe>>, Json(chosen): Json<Chosen>) -> Answer {
    known(&*probe, &chosen)?;
    Ok(Json(probe.dead_letters(&chosen)))
}

async fn replay(State(probe): State<Arc<dyn Probe>>, Json(chosen): Json<Chosen>) -> Answer {
    decided(&*probe, &chosen)?;
    Ok(Json(probe.replay(&chosen)))
}

async fn drop_dead_letters(State(probe): State<Arc<dyn Probe>>, Json(chosen): Json<Chosen>) -> Answer {
    decided(&*probe, &chosen)?;
    Ok(Json(probe.drop_dead_letters(&chosen)))
}

async fn explain(State(probe): State<Arc<dyn Probe>>, asked: Result<Query<Asked>, QueryRejection>) -> Answer {
    let refused = |status, error: String| (status, Json(json!({"error": error})));
    let Query(asked) = asked.map_err(|error| refused(StatusCode::BAD_REQUEST, error.body_text()))?;
    probe.explain(&asked).map(Json).map_err(|error| refused(StatusCode::NOT_FOUND, error))
}

/// What was asked for, or why not.
type Answer = Result<Json<Value>, (StatusCode, Json<Value>)>;

fn known(probe: &dyn Probe, chosen: &Chosen) -> Result<(), (StatusCode, Json<Value>)> {
    there_is(probe, chosen.plugin.as_deref())
}

fn there_is(probe: &dyn Probe, plugin: Option<&str>) -> Result<(), (StatusCode, Json<Value>)> {
    match plugin {
        Some(plugin) if !probe.has_plugin(plugin) => {
            let error = format!("there is no plugin `{plugin}`");
            Err((StatusCode::NOT_FOUND, Json(json!({"error": error}))))
        }
        _ => Ok(()),
    }
}

fn decided(probe: &dyn Probe, chosen: &Chosen) -> Result<(), (StatusCode, Json<Value>)> {
    known(probe, chosen)?;
    match chosen.refused() {
        Some(why) => Err((StatusCode::BAD_REQUEST, Json(json!({"error": why})))),
        None => Ok(()),
    }
}

async fn metrics(State(probe): State<Arc<dyn Probe>>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], probe.metrics()).into_response()
}

async fn unknown() -> (StatusCode, Json<Value>) {
    (
        StatusCode::NOT_FOUND,
        Json(
            json!({"error": "there are /livez, /readyz, /status, /metrics, /reload, /log-level, /queues, /explain and /dead-letters"}),
        ),
    )
}
