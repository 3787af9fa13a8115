use axum::{
    Router,
    body::Body,
    middleware::from_fn_with_state,
    routing::{get, post},
};
use tower::ServiceExt;

use super::*;

type Headers<'a> = &'a [(&'a str, &'a str)];

async fn answered(method: &str, path: &str, headers: Headers<'_>, token: Option<&Token>) -> u16 {
    let router = Router::new()
        .route("/", get(|| async { "page" }))
        .route("/status", get(|| async { "ok" }))
        .route("/reload", post(|| async { "done" }))
        .layer(from_fn_with_state(token.cloned(), check));
    let request = Request::builder().method(method).uri(path);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status().as_u16()
}

async fn status(headers: Headers<'_>) -> u16 {
    answered("GET", "/status", headers, None).await
}

/// The token as it is sent.
fn text(token: &Token) -> String {
    serde_json::to_value(token).unwrap()["token"].as_str().unwrap().to_owned()
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
        let origin = format!("http://{host}");
        assert_eq!(status(&[("host", host), ("origin", &origin)]).await, 403, "{host} with its own origin");
    }
    assert_eq!(status(&[]).await, 403);
    assert_eq!(status(&[("host", "localhost"), ("host", "evil.example.com")]).await, 403);
}

#[tokio::test]
async fn a_request_of_another_origin_is_refused() {
    for origin in [
        "https://evil.example.com",
        "http://localhost",
        "http://localhost:3000",
        "https://localhost:8080",
        "http://127.0.0.1:8080",
        "http://localhost:8080.example.com",
        "localhost:8080",
        "null",
        "",
    ] {
        assert_eq!(status(&[("host", "localhost:8080"), ("origin", origin)]).await, 403, "{origin}");
    }
    let own = ("origin", "http://localhost:8080");
    assert_eq!(status(&[("host", "localhost:8080"), own]).await, 200);
    assert_eq!(status(&[("host", "localhost:8080"), own, ("origin", "null")]).await, 403);
    assert_eq!(status(&[("host", "localhost:8080"), ("host", "localhost:3000"), own]).await, 403);
}

#[tokio::test]
async fn a_request_that_the_browser_calls_foreign_is_refused_also_without_an_origin() {
    for (site, expected) in
        [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("", 403)]
    {
        assert_eq!(status(&[("host", "localhost"), ("sec-fetch-site", site)]).await, expected, "{site}");
    }
}

#[tokio::test]
async fn a_link_of_another_page_opens_the_page_and_nothing_else() {
    let link = [
        ("host", "localhost"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(answered("GET", "/", &link, None).await, 200);
    assert_eq!(answered("GET", "/status", &link, None).await, 403);
    assert_eq!(answered("POST", "/reload", &link, None).await, 403);

    let frame = [link[0], link[1], link[2], ("sec-fetch-dest", "iframe")];
    assert_eq!(answered("GET", "/", &frame, None).await, 403);
}

#[tokio::test]
async fn a_page_changes_something_only_with_the_token_of_this_process() {
    let [own, other] = [Token::new().unwrap(), Token::new().unwrap()];
    let (own_text, other_text) = (text(&own), text(&other));
    let page = [("host", "localhost:1"), ("origin", "http://localhost:1")];
    let marked = [("host", "localhost:1"), ("sec-fetch-site", "same-origin")];

    for page in [page, marked] {
        let with = |token| [page[0], page[1], (TOKEN, token)];
        assert_eq!(answered("POST", "/reload", &page, Some(&own)).await, 403);
        assert_eq!(answered("POST", "/reload", &with(&other_text), Some(&own)).await, 403);
        assert_eq!(answered("POST", "/reload", &with(""), Some(&own)).await, 403);
        assert_eq!(answered("POST", "/reload", &with(&own_text), Some(&own)).await, 200);
        assert_eq!(answered("POST", "/reload", &with(""), None).await, 403, "there is no token");
    }
    let foreign = [page[0], ("origin", "http://localhost:2"), (TOKEN, own_text.as_str())];
    assert_eq!(answered("POST", "/reload", &foreign, Some(&own)).await, 403);
}

#[tokio::test]
async fn a_program_of_this_machine_needs_no_token() {
    let token = Token::new();
    assert_eq!(answered("POST", "/reload", &[("host", "localhost")], token.as_ref()).await, 200);
}
