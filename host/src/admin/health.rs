//! The health endpoint: probes and metrics for other machines, and nothing else.
//!
//! The kubelet and Prometheus reach the pod by its address, so the endpoint checks neither `Host` nor `Origin`. No answer contains a
//! text of the API server, a text of a plugin, or a path of the host. The metrics contain the names of Plugin objects. No answer
//! contains the name of another object.

use std::{fmt::Write, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio_util::sync::CancellationToken;

use super::{
    Probe,
    access::{Access, Reviewer},
    endpoint::{BindError, Endpoint},
    probe::{Check, Outcome},
};
use crate::metrics::Scrapes;

/// The content type of the probes.
const TEXT: &str = "text/plain; charset=utf-8";

type Running = State<Arc<dyn Probe>>;

/// Listens at once, and answers until the token is cancelled. There are only `GET` and `HEAD` of these paths:
///
/// - `/livez`: 200, or 500 with a line for each check that fails. A watch fails while bugs of the host end its informer again and
///   again.
/// - `/readyz`: 200, or 503 with a line for each check that fails. A watch fails until its first list is in the cache; a plugin
///   fails while it has no version in service.
/// - `/metrics`: OpenMetrics text if the request accepts it, and otherwise the text format of Prometheus; see METRICS.md. 503 if too
///   many requests wait for it.
///
/// With a `reviewer`, `/metrics` needs a bearer token of an identity that may get it: 401 without one, 403 without the right, 429
/// if there are too many unknown tokens, and 503 with the reason if the API server does not review the token.
///
/// With `?verbose`, a probe answers with a line for each check, as the API server does.
///
/// # Errors
/// [`BindError`] if the address cannot be used.
pub async fn serve_health(
    address: SocketAddr,
    probe: Arc<dyn Probe>,
    reviewer: Option<Arc<dyn Reviewer>>,
    token: CancellationToken,
) -> Result<Endpoint, BindError> {
    let access = reviewer.map(|reviewer| Arc::new(Access::new(reviewer)));
    let scrapes = Arc::new(Scrapes::default());
    let metrics = move |state, headers: HeaderMap| metrics(state, headers, access, scrapes);
    let router = Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .fallback(unknown)
        .with_state(probe);
    Endpoint::start("health", address.into(), router, token).await
}

pub(super) async fn livez(State(probe): Running, RawQuery(query): RawQuery) -> Response {
    answer("livez", &probe.liveness(), is_verbose(query.as_deref()), StatusCode::INTERNAL_SERVER_ERROR)
}

async fn readyz(State(probe): Running, RawQuery(query): RawQuery) -> Response {
    answer("readyz", &probe.readiness(), is_verbose(query.as_deref()), StatusCode::SERVICE_UNAVAILABLE)
}

async fn metrics(
    State(probe): Running,
    headers: HeaderMap,
    access: Option<Arc<Access>>,
    scrapes: Arc<Scrapes>,
) -> Response {
    if let Some(access) = access
        && let Some(refusal) = access.refusal(&headers).await
    {
        return refusal;
    }
    scrapes.answer(&headers, move || probe.metrics()).await
}

async fn unknown() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "there are /livez, /readyz and /metrics\n")
}

/// Returns true for `?verbose`, whatever its value.
fn is_verbose(query: Option<&str>) -> bool {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).any(|(name, _)| name == "verbose")
}

fn answer(probe: &str, checks: &[Check], verbose: bool, failed: StatusCode) -> Response {
    let passed = checks.iter().all(Check::passes);
    let (code, verdict) = if passed { (StatusCode::OK, "passed") } else { (failed, "failed") };
    if passed && !verbose {
        return ([(CONTENT_TYPE, TEXT)], "ok").into_response();
    }
    let mut text = String::new();
    for check in checks.iter().filter(|check| verbose || !check.passes()) {
        let what = &check.what;
        // Writing to a string does not fail.
        let _ = match check.outcome {
            Outcome::Ok => writeln!(text, "[+]{what} ok"),
            Outcome::Impaired(why) => writeln!(text, "[+]{what} ok, but {why}"),
            Outcome::Failed(why) => writeln!(text, "[-]{what} failed: {why}"),
        };
    }
    let _ = writeln!(text, "{probe} check {verdict}");
    (code, [(CONTENT_TYPE, TEXT)], text).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    fn check(what: &str, outcome: Outcome) -> Check {
        Check { what: what.to_owned(), outcome }
    }

    async fn told(checks: &[Check], verbose: bool) -> (u16, String) {
        let answer = answer("readyz", checks, verbose, StatusCode::SERVICE_UNAVAILABLE);
        let code = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_probe_answers_with_the_failing_checks_and_verbose_with_all() {
        let well = [
            check("watch v1/pods", Outcome::Ok),
            check("plugin ttl", Outcome::Impaired("it is in quarantine")),
        ];
        assert_eq!(told(&well, false).await, (200, "ok".to_owned()));
        assert_eq!(
            told(&well, true).await,
            (
                200,
                "[+]watch v1/pods ok\n[+]plugin ttl ok, but it is in quarantine\nreadyz check passed\n"
                    .to_owned()
            )
        );
        assert_eq!(told(&[], true).await, (200, "readyz check passed\n".to_owned()));

        let [pods, ttl] = well;
        let ill = [pods, ttl, check("plugin echo", Outcome::Failed("it has no version in service"))];
        let failing = "[-]plugin echo failed: it has no version in service\nreadyz check failed\n";
        assert_eq!(told(&ill, false).await, (503, failing.to_owned()));
        let (code, verbose) = told(&ill, true).await;
        assert_eq!(code, 503);
        assert!(verbose.starts_with("[+]watch v1/pods ok\n") && verbose.ends_with(failing), "{verbose}");
    }

    #[test]
    fn verbose_needs_no_value() {
        for query in ["verbose", "verbose=", "verbose=1", "a=b&verbose=true"] {
            assert!(is_verbose(Some(query)), "{query}");
        }
        for query in [None, Some(""), Some("verbos"), Some("a=verbose")] {
            assert!(!is_verbose(query), "{query:?}");
        }
    }
}
