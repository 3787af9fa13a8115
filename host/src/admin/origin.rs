//! Decides which requests are answered: those of programs of this machine and of the host's own page, not those of other pages in
//! a browser.
//!
//! Loopback keeps other machines out, but not the pages that a browser on this machine shows. A page may send requests to
//! any address, and it can read the answers if its own host name resolves to this machine (DNS rebinding). A browser names the
//! page that sends a request in `Origin` and `Sec-Fetch-Site`, which no page can change; programs send neither.

use std::net::IpAddr;

use super::{token::Token, types::Failed};
use axum::{
    Json,
    extract::{Request, State},
    http::{
        HeaderMap, Method, StatusCode, Uri,
        header::{HOST, ORIGIN},
        uri::Authority,
    },
    middleware::Next,
    response::{IntoResponse, Response},
};

/// The header of the token.
pub(super) const TOKEN: &str = "informer-token";

/// Answers 403 to a request that another page in a browser sent or may have sent, and to one of the host's own page that
/// changes something and lacks the token.
pub(super) async fn check(State(token): State<Option<Token>>, request: Request, next: Next) -> Response {
    match refused(request.method(), request.uri(), request.headers(), token.as_ref()) {
        Some(why) => (StatusCode::FORBIDDEN, Json(Failed { error: why.to_owned() })).into_response(),
        None => next.run(request).await,
    }
}

fn refused(method: &Method, uri: &Uri, headers: &HeaderMap, token: Option<&Token>) -> Option<&'static str> {
    // An HTTP/2 request has the host in its URI.
    let authority = uri.authority().map(Authority::as_str);
    let mut hosts: Vec<Option<&str>> = headers.get_all(HOST).iter().map(|host| host.to_str().ok()).collect();
    hosts.extend(authority.map(Some));
    if hosts.is_empty() || !hosts.iter().all(|host| host.is_some_and(is_local)) {
        return Some("the `Host` header must be `localhost` or a loopback address, with the port or without");
    }
    let origins: Vec<&[u8]> = headers.get_all(ORIGIN).iter().map(|origin| origin.as_bytes()).collect();
    let own = |origin: &&[u8]| hosts.iter().flatten().all(|host| is_origin(origin, host));
    if !origins.iter().all(own) {
        return Some("another page in a browser is not answered: `Origin` is not this address");
    }
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    let opens = reads && uri.path() == "/" && is_navigation(headers);
    if !opens && !matches!(site, None | Some(b"same-origin" | b"none")) {
        return Some("another page in a browser is not answered: `Sec-Fetch-Site` is not `same-origin`");
    }
    let page = !origins.is_empty() || site.is_some();
    let sent = headers.get(TOKEN).map(|sent| sent.as_bytes());
    let knows = token.zip(sent).is_some_and(|(token, sent)| token.is(sent));
    if page && !reads && !knows {
        return Some("a page that changes the host must send the token of this process in `informer-token`");
    }
    None
}

/// Returns true if the user follows a link to the page. No other page can read or frame a page that is opened in this way.
fn is_navigation(headers: &HeaderMap) -> bool {
    let is = |name, value: &str| headers.get(name).is_some_and(|found| found.as_bytes() == value.as_bytes());
    is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

/// Returns true for the origin of the page that is served under this `Host`: the endpoint speaks plain HTTP.
fn is_origin(origin: &[u8], host: &str) -> bool {
    origin.strip_prefix(b"http://").is_some_and(|named| named.eq_ignore_ascii_case(host.as_bytes()))
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
mod tests;
