//! API servers that are down, refuse, or speak nonsense: each is told in one sentence, and outlived.

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

/// The host says exactly this of a server that answers so, and nothing is wrong any more once the server is well.
async fn is_told_and_outlived(script: impl Fn(&Uri) -> Answer + Send + Sync + 'static, expected: &str) {
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
async fn a_server_that_is_down_is_named_and_served_once_it_is_up() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("after-all").await;
    // On a port where nothing listens, and which nobody else can take.
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
async fn credentials_that_are_not_accepted_are_to_be_renewed() {
    is_told_and_outlived(
        |_| Answer::failure(401, "Unauthorized", "Unauthorized"),
        "cannot look up v1/configmaps: the API server at URL answered 401 Unauthorized (GET /api/v1); \
         renew the credentials in the kubeconfig or the service account",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named_with_the_verbs_to_grant() {
    let forbidden = "configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in API group \"\" \
                     at the cluster scope";
    is_told_and_outlived(
        move |uri| if is_list(uri) { Answer::failure(403, "Forbidden", forbidden) } else { healthy(uri) },
        &format!(
            "cannot list v1/configmaps: the API server at URL answered 403 Forbidden: {forbidden} \
             (LIST v1/configmaps); grant get, list and watch on it to this identity"
        ),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_for_people_is_no_api_server() {
    is_told_and_outlived(
        |_| Answer::new(200, "text/html", "<!doctype html><title>Log in</title>"),
        "cannot look up v1/configmaps: the API server at URL answered with HTML, not JSON: \
         is it an API server? (GET /api/v1)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_page_of_a_proxy_is_not_shown_in_full() {
    is_told_and_outlived(
        |_| Answer::new(502, "text/html", "<html><h1>Bad Gateway</h1></html>"),
        "cannot look up v1/configmaps: the API server at URL answered 502 Bad Gateway: \
         an HTML page; is it an API server? (GET /api/v1)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_breaks_off_is_told_with_how_much_of_it_came() {
    is_told_and_outlived(
        |uri| if is_list(uri) { healthy(uri).broken_after(100) } else { healthy(uri) },
        "cannot list v1/configmaps: the API server at URL closed the connection in the middle of its answer, after 100 bytes \
         (LIST v1/configmaps)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_half_a_json_text_is_told_with_how_much_of_it_came() {
    is_told_and_outlived(
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
async fn text_that_is_no_json_is_told_with_where_it_goes_wrong() {
    is_told_and_outlived(
        |uri| {
            if is_list(uri) { Answer::new(200, "application/json", "OK, but no JSON") } else { healthy(uri) }
        },
        "cannot list v1/configmaps: the API server at URL answered with a text that is not JSON: \
         expected value at line 1 column 1 (LIST v1/configmaps)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_no_list() {
    is_told_and_outlived(
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
async fn a_single_object_is_no_list() {
    is_told_and_outlived(
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
async fn a_server_that_turns_bad_in_service_is_told_and_costs_no_object() {
    let server = Answers::with(|uri| match crate::answers::is_watch(uri) {
        // Broken in the middle of a frame.
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
    // What is in the cache is still true as far as anybody knows, and it is served.
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
