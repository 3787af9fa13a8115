//! The admin endpoint: liveness, readiness, status and commands over HTTP, for programs of this machine, and a page.

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode},
    middleware::{from_fn_with_state, map_response},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use informer_system::{HttpAddress, PrivateDir};
use tokio_util::sync::CancellationToken;

use super::{
    Client, Probe,
    endpoint::{Answer, BindError, Endpoint, refusal},
    health::livez,
    origin, page,
    token::Token,
    types::{
        Chosen, DeadLetters, Dropped, ExplainRequest, Explanation, Failed, Identity, LogLevelRequest, Queues,
        RecordRequest, Recording, ReloadRequest, Replays, Reported, Status,
    },
};
use crate::metrics::Scrapes;

/// The most bytes of a request's body. The longest one names a plugin and a key.
const BODY_BYTES: usize = 64 << 10;

type Running = State<Arc<dyn Probe>>;

/// What the admin endpoint does if another program listens on its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfTaken {
    /// The endpoint does not start. If another host listens there, the error names that host.
    #[default]
    Fail,
    /// The endpoint listens on a free port of the same interface. With a Unix socket, which has no port, it does not start.
    AnyPort,
}

/// Listens at once, and answers until the token is cancelled.
///
/// - `GET /livez`: the answer of the health endpoint: 200, or 500 if only a new process may help.
/// - `GET /readyz`: 200, or 503 with the reasons, one for each line. If something fails that does not keep the host from serving, the
///   reason follows after `ok`: a watch that fails after its first list does not make the host unready, because its plugins still have
///   work and their caches.
/// - `GET /status`: [`Status`].
/// - `GET /metrics`: OpenMetrics text if the request accepts it, and otherwise the text format of Prometheus; see METRICS.md.
/// - `POST /reload` with a [`ReloadRequest`]: a [`Report`](super::types::Report) once the reload is done; 503 if the host takes no reload
///   now.
/// - `POST /log-level` with a [`LogLevelRequest`]: 400 if there is no such level.
/// - `GET /queues`: [`Queues`].
/// - `POST /dead-letters/list`, `replay` and `drop` with a [`Chosen`]: 400 if `replay` or `drop` has neither a key nor
///   `"all": true`; 404 if there is no such plugin or resource. `gvr` may be another name that kubectl accepts, as for `/explain`.
/// - `GET /explain?gvr=v1/pods&key=shop/web`, with `&plugin=name` for one plugin: an [`Explanation`]; 404 if no watch
///   serves the resource. `gvr` may be another name that kubectl accepts for a watched resource, such as `po`.
/// - `POST /record` with a [`RecordRequest`]: a [`Recording`] once a bound of it is reached, with bodies of
///   objects as the plugin may see them; 503 if another recording runs.
/// - `GET /`: the page for browsers.
///
/// Programs of this machine and the host's own page are answered, other pages in a browser are not: a request with another
/// `Origin`, or with a `Host` that is neither `localhost` nor a loopback address, gets 403. Every request that changes
/// something must have the content type of JSON, and the page must send a token with it.
///
/// The body of a request has at most 64 KiB (413). Each answer has the number of the process and the configuration file in the
/// headers `informer-process` and `informer-configuration`.
///
/// # Errors
/// [`BindError`] if the address cannot be used. If another host listens there, `if_taken` decides, and the error names that
/// host. The directory of a Unix socket is made if it does not exist, and must be private; [`PrivateDir`] has the rules.
pub async fn serve_admin(
    address: HttpAddress,
    if_taken: IfTaken,
    probe: Arc<dyn Probe>,
    token: CancellationToken,
) -> Result<Endpoint, BindError> {
    if let HttpAddress::Unix(socket) = &address
        && let Some(directory) = socket.parent()
        && let Err(why) = PrivateDir::create(directory)
    {
        return Err(BindError::new("admin", address.clone(), io::Error::other(why)));
    }
    let host = probe.identity();
    let page_token = Token::new();
    let scrapes = Arc::new(Scrapes::default());
    let metrics = move |state, headers: HeaderMap| metrics(state, headers, scrapes);
    let router = Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/status", get(status))
        .route("/reload", post(reload))
        .route("/log-level", post(set_log_level))
        .route("/queues", get(queues))
        .route("/dead-letters/list", post(list_dead_letters))
        .route("/dead-letters/replay", post(replay))
        .route("/dead-letters/drop", post(drop_dead_letters))
        .route("/explain", get(explain))
        .route("/record", post(record))
        .route("/metrics", get(metrics))
        .fallback(unknown)
        .with_state(Arc::clone(&probe))
        .merge(page::routes(probe, page_token.clone(), token.clone()))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(map_response(move |answer| identified(host.clone(), answer)))
        .layer(from_fn_with_state(page_token, origin::check))
        .layer(map_response(page::guard));
    match (Endpoint::start("admin", address.clone(), router.clone(), token.clone()).await, address.tcp()) {
        (Err(error), Some(tcp)) if error.is_taken() && if_taken == IfTaken::AnyPort => {
            let any_port = SocketAddr::new(tcp.ip(), 0).into();
            let started = Endpoint::start("admin", any_port, router, token).await?;
            let free = started.address();
            tracing::info!("another process listens at {address}; the admin endpoint takes {free}");
            Ok(started)
        }
        (Err(error), _) if error.is_taken() => Err(error.because(taken(&address).await)),
        (started, _) => started,
    }
}

/// Describes the program that listens on an address.
async fn taken(address: &HttpAddress) -> String {
    match Client::at(address.clone()).identity().await {
        Some(host) => format!("it is taken by {host}; stop that host if it should not run"),
        None => "it is taken by another program".to_owned(),
    }
}

/// Adds the identity of the host.
async fn identified(host: Identity, mut answer: Response) -> Response {
    host.write(answer.headers_mut());
    answer
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
    Ok(Json(probe.dead_letters(&with_full_name(&*probe, chosen)?)))
}

async fn replay(State(probe): Running, Json(chosen): Json<Chosen>) -> Answer<Replays> {
    Ok(Json(probe.replay(&decided(&*probe, chosen)?)))
}

async fn drop_dead_letters(State(probe): Running, Json(chosen): Json<Chosen>) -> Answer<Dropped> {
    Ok(Json(probe.drop_dead_letters(&decided(&*probe, chosen)?)))
}

async fn explain(
    State(probe): Running,
    request: Result<Query<ExplainRequest>, QueryRejection>,
) -> Answer<Explanation> {
    let Query(request) = request.map_err(|error| refusal(StatusCode::BAD_REQUEST, error.body_text()))?;
    probe.explain(&request).map(Json).map_err(|error| refusal(StatusCode::NOT_FOUND, error))
}

async fn record(State(probe): Running, Json(request): Json<RecordRequest>) -> Answer<Recording> {
    check_plugin(&*probe, Some(&request.plugin))?;
    let recording = probe.record(request).await;
    recording.map(Json).map_err(|why| refusal(StatusCode::SERVICE_UNAVAILABLE, why))
}

async fn metrics(State(probe): Running, headers: HeaderMap, scrapes: Arc<Scrapes>) -> Response {
    scrapes.answer(&headers, move || probe.metrics()).await
}

async fn unknown() -> (StatusCode, Json<Failed>) {
    let paths = "there are /, /livez, /readyz, /status, /metrics, /reload, /log-level, /queues, /explain, /record and /dead-letters";
    refusal(StatusCode::NOT_FOUND, paths)
}

fn check_plugin(probe: &dyn Probe, plugin: Option<&str>) -> Result<(), (StatusCode, Json<Failed>)> {
    match plugin {
        Some(plugin) if !probe.has_plugin(plugin) => {
            Err(refusal(StatusCode::NOT_FOUND, format!("there is no plugin `{plugin}`")))
        }
        _ => Ok(()),
    }
}

/// Returns the choice with the full name of its resource.
fn with_full_name(probe: &dyn Probe, chosen: Chosen) -> Result<Chosen, (StatusCode, Json<Failed>)> {
    check_plugin(probe, chosen.plugin.as_deref())?;
    // The empty text chooses the letters that belong to no resource.
    let full = |name: String| if name.is_empty() { Ok(name) } else { probe.resource(&name) };
    let gvr = chosen.gvr.map(full).transpose().map_err(|why| refusal(StatusCode::NOT_FOUND, why))?;
    Ok(Chosen { gvr, ..chosen })
}

/// Checks that this choice may replay or drop letters, and returns the choice with the full name of its resource.
fn decided(probe: &dyn Probe, chosen: Chosen) -> Result<Chosen, (StatusCode, Json<Failed>)> {
    let chosen = with_full_name(probe, chosen)?;
    match chosen.undecided() {
        Some(why) => Err(refusal(StatusCode::BAD_REQUEST, why)),
        None => Ok(chosen),
    }
}
