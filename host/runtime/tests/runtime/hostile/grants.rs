//! Plugins that try to use what they were not granted.

use std::sync::{Arc, atomic::Ordering};

use informer_runtime::capabilities::{HttpConfig, HttpOutcome, Protected};
use informer_types::Outcome;
use serde_json::json;

use super::{
    hostile, load,
    neighbour::{Neighbour, calls},
};
use crate::{
    host::{Running, Setup, object},
    http::{Names, get, server::Server},
};

const SECRET: &str = "aHVudGVyMg==";

/// Runs the attack and returns the lines of the guest.
pub(super) async fn said(setup: Setup, guest: &'static str) -> (Running, Vec<String>) {
    let running = load(setup, guest).await;
    let neighbour = Neighbour::start().await;
    neighbour.hardly_notices(&running.plugin, || calls(Arc::clone(&running.plugin))).await;
    assert_eq!(running.add("bad").await, Outcome::Acknowledged);
    let said = running.log.messages();
    assert!(!said.is_empty());
    (running, said)
}

#[tokio::test]
async fn a_namespace_without_a_grant_cannot_be_read() {
    let objects = vec![object("kube-system", "web", "1", "{}")];
    let config = r#"{"gvr": "v1/pods", "what": "list-json", "namespace": "kube-system"}"#;
    let setup = hostile(config).read(&["v1/pods @shop"]).cache("v1/pods", objects);

    let (running, said) = said(setup, "reader").await;

    let refused = "reading v1/pods is not granted in namespace kube-system";
    assert!(said.iter().all(|line| line.contains(refused)), "{:?}", said[0]);
    assert_eq!(running.cache.lists.load(Ordering::Relaxed), 0, "the cache was not read");
}

#[tokio::test]
async fn a_list_of_all_namespaces_shows_only_the_granted_ones() {
    let objects = vec![object("shop", "mine", "1", "{}"), object("kube-system", "theirs", "1", "{}")];
    let config = r#"{"gvr": "v1/pods", "what": "list-meta"}"#;
    let setup = hostile(config).read(&["v1/pods @shop"]).cache("v1/pods", objects);

    let (_, said) = said(setup, "reader").await;

    assert!(said.iter().all(|line| line == "shop/mine"), "{:?}", said[0]);
}

#[tokio::test]
async fn the_values_of_secrets_without_a_grant_are_masked() {
    let json = format!(r#"{{"kind":"Secret","data":{{"password":"{SECRET}"}}}}"#);
    let objects = vec![object("shop", "db", "1", &json)];
    let config = r#"{"gvr": "v1/secrets", "what": "list-json"}"#;
    let setup = hostile(config).read(&["v1/secrets"]).cache("v1/secrets", objects);

    let (_, said) = said(setup, "reader").await;

    assert!(said.iter().all(|line| line.contains("***") && !line.contains(SECRET)), "{:?}", said[0]);
}

#[tokio::test]
async fn no_write_leaves_the_host_without_its_grant() {
    let steps = json!([
        {"do": "merge", "body": {}},
        {"do": "create", "gvr": "rbac.authorization.k8s.io/v1/clusterrolebindings", "namespace": "", "body": {}},
        {"do": "delete", "gvr": "v1/configmaps", "namespace": "kube-system", "name": "x"},
        {"do": "merge", "gvr": "v1/secrets", "name": "db", "body": {}},
    ]);
    let grants = ["patch v1/configmaps @shop", "patch v1/secrets"];
    let setup = hostile(&json!({"steps": steps}).to_string()).read(&[]).write(&grants);

    let (running, said) = said(setup, "writer").await;

    assert!(said.iter().all(|line| line.contains(" error not-granted: ")), "{said:?}");
    assert_eq!(running.api.asked(), Vec::<String>::new());
    let client = running.plugin.stats().client;
    assert!(client.requests == 0 && client.refused >= 4, "{client:?}");
}

#[tokio::test]
async fn no_request_reaches_the_api_server_or_a_link_local_or_rebound_address() {
    let server = Server::start().await;
    let (authority, port) = (server.authority(), server.address.port());
    let rebound = format!("rebound.example.com:{port}");
    let names = Names::new(&[("rebound.example.com", &[&["169.254.169.254"], &["127.0.0.1"]])]);
    let protected = vec![Protected { what: "the API server", host: "127.0.0.1".to_owned(), port }];
    let link_local = "169.254.169.254";
    let requests = [
        get(&authority, "/api/v1/secrets"),
        get(link_local, "/latest/meta-data/"),
        get(&rebound, "/"),
        get(&rebound, "/"),
    ];
    // The grants would allow all but the link-local address, which cannot be granted.
    let grants = [format!("http://{authority}/"), format!("http://{rebound}/")];
    let setup = hostile(&json!({"requests": requests}).to_string())
        .http(&grants.each_ref().map(String::as_str))
        .http_config(HttpConfig { resolver: names, protected, ..HttpConfig::default() });

    let (running, said) = said(setup, "fetch").await;

    let denied = |line: &String| line == "HttpRequestDenied" || line.contains(" denied: ");
    assert!(said.iter().all(denied), "{said:?}");
    let outcomes = running.plugin.stats().http.requests;
    // Requests that the end of the attack cut short do not count.
    assert!(outcomes.keys().all(|outcome| [HttpOutcome::Denied, HttpOutcome::Abandoned].contains(outcome)));
    assert_eq!(server.seen(), Vec::<String>::new());
}
