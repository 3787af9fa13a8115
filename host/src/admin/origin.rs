//! Which requests are answered: those of programs of this machine, not those of pages in a browser.
//!
//! Loopback keeps other machines out, but not the pages that a browser on this machine shows. A page may send requests to
//! any address, and it can read the answers if its own host name resolves to this machine (DNS rebinding).

use std::net::IpAddr;

use super::types::Failed;
use axum::{
    Json,
    extract::Request,
    http::{
        HeaderMap, StatusCode, Uri,
        header::{HOST, ORIGIN},
        uri::Authority,
    },
    middleware::Next,
    response::{IntoResponse, Response},
};

/// Answers 403 to a request that a page in a browser sent or may have sent.
pub(super) async fn check(request: Request, next: Next) -> Response {
    match refused(request.uri(), request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, Json(Failed { error: why.to_owned() })).into_response(),
        None => next.run(request).await,
    }
}

fn refused(uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    if headers.contains_key(ORIGIN) {
        return Some("pages in a browser are not answered: there is an `Origin` header");
    }
    // An HTTP/2 request has the host in its URI.
    let authority = uri.authority().map(Authority::as_str);
    let mut hosts =
        headers.get_all(HOST).iter().map(|host| host.to_str().ok()).chain(authority.map(Some)).peekable();
    let named = hosts.peek().is_some();
    if named && hosts.all(|host| host.is_some_and(is_local)) {
        return None;
    }
    Some("the `Host` header must be `localhost` or a loopback address, with the port or without")
}

/// Returns true for `localhost:8080`, `127.0.0.1`, `[::1]:8080` and the like.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, middleware::from_fn, routing::get};
    use tower::ServiceExt;

    use super::*;

    async fn status(headers: &[(&str, &str)]) -> u16 {
        let router = Router::new().route("/status", get(|| async { "ok" })).layer(from_fn(check));
        let request = headers
            .iter()
            .fold(Request::get("/status"), |request, (name, value)| request.header(*name, *value));
        router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn a_request_to_a_loopback_address_is_answered() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.0.0.9", "[::1]:8080", "[::1]"] {
            assert_eq!(status(&[("host", host)]).await, 200, "{host}");
        }
    }

    #[tokio::test]
    async fn a_request_to_another_host_name_is_refused() {
        for host in [
            "evil.example.com",
            "evil.example.com:8080",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "10.0.0.1:8080",
            "[2001:db8::1]",
            "",
            "a b",
        ] {
            assert_eq!(status(&[("host", host)]).await, 403, "{host}");
        }
        assert_eq!(status(&[]).await, 403);
        assert_eq!(status(&[("host", "localhost"), ("host", "evil.example.com")]).await, 403);
    }

    #[tokio::test]
    async fn a_request_with_an_origin_is_refused_whatever_the_origin() {
        for origin in ["https://evil.example.com", "http://localhost:8080", "null"] {
            assert_eq!(status(&[("host", "localhost"), ("origin", origin)]).await, 403, "{origin}");
        }
    }
}
