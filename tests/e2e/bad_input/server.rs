//! API servers that are down, refuse requests or send nonsense: each gets a one-sentence error, and the host
//! recovers.

use hyper::Uri;
use informer_devserver::DevServer;
use informer_tests::{
    host::TestHost,
    proxy::{FaultProxy, Mode},
};
use serde_json::json;

use super::{configuration, last_error};
use crate::{
    answers::{Answer, Answers, healthy, is_list, list},
    configmaps::ConfigMaps,
};

/// Waits until the host reports exactly `expected` for a server with this script. When the server is healthy, the
/// host reports no problem.
async fn is_reported_and_survived(script: impl Fn(&Uri) -> Answer + Send + Sync + 'static, expected: &str) {
    let server = Answers::with(script).await;
    let host = TestHost::start(&server.url(), &configuration()).await.unwrap();

    assert_eq!(last_error(&host, &server.url()).await, expected);
    host.until("the host to say why it is not ready", |_| {
        let reasons = host.unready();
        reasons.iter().any(|reason| {
            reason.starts_with("v1/configmaps: ") && reason.replace(&server.url(), "URL").contains(expected)
        })
    })
    .await;

    server.change(healthy);
    host.synced().await;
    host.lines.said("echo", "add default/good 5 initial ", "").await;
    assert_eq!(host.unready(), Vec::<String>::new());
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_is_named_and_used_when_it_is_up() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("after-all").await;
    // A reserved port on which nothing listens, and which no other process can take.
    let wire = FaultProxy::start(server.address()).unwrap();
    wire.set(Mode::Refuse).await.unwrap();
    let url = format!("http://{}", wire.address());
    let host = TestHost::start(&url, &configuration()).await.unwrap();
    assert_eq!(
        last_error(&host, &url).await,
        "cannot look up v1/configmaps: the API server at URL cannot be reached: Connection refused \
         (os error 111) (GET /api/v1); is it running?"
    );

    wire.set(Mode::Pass).await.unwrap();

    host.synced().await;
    host.lines.said("echo", "add default/after-all ", "").await;
    assert_eq!(host.unready(), Vec::<String>::new());
    host.stop().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_for_refused_requests_without_credentials_says_to_name_a_kubeconfig() {
    is_reported_and_survived(
        |_| Answer::failure(401, "Unauthorized", "Unauthorized"),
        "cannot look up v1/configmaps: the API server at URL answered 401 Unauthorized (GET /api/v1); \
         requests carry no credentials, because [cluster] server names the API server; name a kubeconfig under \
         [cluster] kubeconfig instead",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_for_a_missing_permission_names_the_verbs_to_grant() {
    let forbidden = "configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in API group \"\" \
                     at the cluster scope";
    is_reported_and_survived(
        move |uri| if is_list(uri) { Answer::failure(403, "Forbidden", forbidden) } else { healthy(uri) },
        &format!(
            "cannot list v1/configmaps: the API server at URL answered 403 Forbidden: {forbidden} \
             (LIST v1/configmaps); grant get, list and watch on it to this identity"
        ),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_html_page_is_reported_as_not_an_api_server() {
    is_reported_and_survived(
        |_| Answer::new(200, "text/html", "<!doctype html><title>Log in</title>"),
        "cannot look up v1/configmaps: the API server at URL answered with HTML, not JSON: \
         is it an API server? (GET /api/v1)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_page_of_a_proxy_is_shortened() {
    is_reported_and_survived(
        |_| Answer::new(502, "text/html", "<html><h1>Bad Gateway</h1></html>"),
        "cannot look up v1/configmaps: the API server at URL answered 502 Bad Gateway: \
         an HTML page; is it an API server? (GET /api/v1)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_for_a_list_that_breaks_off_says_how_much_arrived() {
    is_reported_and_survived(
        |uri| if is_list(uri) { healthy(uri).broken_after(100) } else { healthy(uri) },
        "cannot list v1/configmaps: the API server at URL closed the connection in the middle of its answer, after 100 bytes \
         (LIST v1/configmaps)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_for_an_incomplete_json_list_says_how_much_arrived() {
    is_reported_and_survived(
        |uri| match is_list(uri) {
            true => Answer::new(200, "application/json", r#"{"kind":"ConfigMapList","items":[{"metadata":"#),
            false => healthy(uri),
        },
        "cannot list v1/configmaps: the API server at URL closed the connection in the middle of its answer, after 45 bytes \
         (LIST v1/configmaps)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_for_invalid_json_names_the_position() {
    is_reported_and_survived(
        |uri| {
            if is_list(uri) { Answer::new(200, "application/json", "OK, but no JSON") } else { healthy(uri) }
        },
        "cannot list v1/configmaps: the API server at URL answered with a text that is not JSON: \
         expected value at line 1 column 1 (LIST v1/configmaps)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_refused_as_a_list() {
    is_reported_and_survived(
        |uri| match is_list(uri) {
            true => Answer::json(&json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "10"},
                "columnDefinitions": [], "rows": [],
            })),
            false => healthy(uri),
        },
        "cannot list v1/configmaps: the API server at URL answered with a Table: \
         it ignored `Accept: application/json` (LIST v1/configmaps)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_object_is_refused_as_a_list() {
    is_reported_and_survived(
        |uri| match is_list(uri) {
            true => Answer::json(&crate::answers::configmap("alone", "5")),
            false => healthy(uri),
        },
        "cannot list v1/configmaps: the API server at URL answered with `ConfigMap`, \
         which is no list: it has no items (LIST v1/configmaps)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_later_is_reported_and_no_object_is_lost() {
    let server = Answers::with(|uri| match crate::answers::is_watch(uri) {
        // The answer breaks in the middle of a frame.
        true => Answer::watch(&[json!({"type": "ADDED"})]).broken_after(5),
        false => healthy(uri),
    })
    .await;
    let host = TestHost::start(&server.url(), &configuration()).await.unwrap();
    host.synced().await;
    host.lines.said("echo", "add default/good 5 initial ", "").await;

    server.change(|_| Answer::failure(401, "Unauthorized", "Unauthorized"));
    host.until("the refusal", |status| {
        let error = &status["informers"][0]["reflectors"][0]["last-error"];
        error["class"] == "Unauthorized"
    })
    .await;
    // The cache may still be true, so the host keeps serving it.
    assert_eq!(host.status()["informers"][0]["objects"], 1);
    assert_eq!(host.unready(), Vec::<String>::new());

    server.change(|uri| match is_list(uri) {
        true => list(&[crate::answers::configmap("good", "12")]),
        false => healthy(uri),
    });
    host.lines.said("echo", "update default/good 12 relist ", "").await;
    assert!(!host.lines.of("echo").iter().any(|line| line.starts_with("delete ")));
    host.stop().await;
}
