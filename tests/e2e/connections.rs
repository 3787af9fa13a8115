//! The connections of the host to the API server, as a program on the way sees them.

mod commands;
mod middlebox;
mod proxies;
mod tls;

use std::net::SocketAddr;

use axum::Router;
use informer::{
    config::Access,
    connect::{Connection, connect},
};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_system::HttpAddress;
use informer_tests::{
    host::{TestHost, configuration},
    writer::Writer,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, PostParams};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::configmaps::ConfigMaps;
use middlebox::{Kind, Middlebox, Request};

const WATCH: &str = "[[watch]]\ngvr = \"v1/configmaps\"\n";

/// A server with the ConfigMap that starts a writer.
async fn server() -> DevServer {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("trigger").await;
    server
}

/// A plugin that reads a ConfigMap from the API server.
fn reader() -> String {
    let steps = json!([{"do": "get", "name": "trigger"}]);
    let writer = Writer { on: "v1/configmaps", grant: "read = [\"v1/configmaps\"]\nwrite = []", steps };
    writer.toml(&guest("writer"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_names_the_host_and_that_of_a_plugin_names_the_plugin_too() {
    let server = server().await;
    let middlebox = Middlebox::start(Kind::Open, server.address()).await;
    let host = TestHost::start(&middlebox.url(), &format!("{WATCH}{}", reader())).await.unwrap();
    host.synced().await;
    host.lines.until("writer", "an answer", |lines| !lines.is_empty()).await;
    host.stop().await;

    let requests = middlebox.requests();
    let agent = |path: &str| {
        let request = requests.iter().find(|request| request.line.starts_with(path));
        let request = request.unwrap_or_else(|| panic!("no {path} in {requests:#?}"));
        request.header("user-agent").unwrap_or_else(|| panic!("no agent in {request:?}")).to_owned()
    };
    let own = agent("GET /api/v1/configmaps?");
    assert!(own.starts_with(concat!("informer/", env!("CARGO_PKG_VERSION"), " (")) && own.ends_with(')'));
    // Discovery.
    assert_eq!(agent("GET /api/v1 "), own);
    assert_eq!(agent("GET /api/v1/namespaces/default/configmaps/trigger "), format!("{own} plugin/writer"));
    for request in &requests {
        assert_eq!(request.headers("user-agent").len(), 1, "{request:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_plugin_are_sent_as_its_service_account_and_watches_as_the_host() {
    let server = server().await;
    let middlebox = Middlebox::start(Kind::Open, server.address()).await;
    let toml = |account: &str| {
        let account = format!("[[plugin]]\nas = \"system:serviceaccount:{account}\"\n");
        format!("{WATCH}{}", reader().replace("[[plugin]]\n", &account))
    };
    let host = TestHost::start(&middlebox.url(), &toml("shop:reloader")).await.unwrap();
    host.synced().await;
    host.lines.until("writer", "an answer", |lines| !lines.is_empty()).await;
    // From the next request on.
    host.app().apply(configuration(&toml("shop:other")).unwrap()).await.unwrap();
    ConfigMaps::of(&server.url(), "kube-system").await.create("trigger").await;
    host.lines.until("writer", "another answer", |lines| lines.len() > 1).await;
    host.app().apply(configuration(&format!("{WATCH}{}", reader())).unwrap()).await.unwrap();
    ConfigMaps::of(&server.url(), "kube-public").await.create("trigger").await;
    host.lines.until("writer", "the last answer", |lines| lines.len() > 2).await;
    host.stop().await;

    let requests = middlebox.requests();
    let is_own = |request: &&Request| request.header("user-agent").is_some_and(|it| it.contains(" plugin/"));
    let (own, others): (Vec<_>, Vec<_>) = requests.iter().partition(is_own);
    let mut users: Vec<_> = own.iter().map(|request| request.headers("impersonate-user")).collect();
    users.sort();
    let account = |name: &'static str| vec![name];
    assert_eq!(
        users,
        [vec![], account("system:serviceaccount:shop:other"), account("system:serviceaccount:shop:reloader")]
    );
    // The API server adds the groups of a ServiceAccount.
    assert!(requests.iter().all(|request| request.headers("impersonate-group").is_empty()), "{requests:#?}");
    assert!(!others.is_empty());
    assert!(others.iter().all(|request| request.headers("impersonate-user").is_empty()), "{others:#?}");
}

/// A connection by a kubeconfig to a server that only the proxy finds.
async fn through(proxy: &str) -> Connection {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         clusters:\n- name: a\n  cluster: {{server: 'http://api.invalid:6443', proxy-url: '{proxy}'}}\n\
         users:\n- name: a\n  user: {{}}\n\
         contexts:\n- name: a\n  context: {{cluster: a, user: a}}\n"
    );
    std::fs::write(&path, text).unwrap();
    connect(&Access::Kubeconfig { path: Some(path), context: None }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_watches_and_plugins_pass_the_proxy_of_the_kubeconfig() {
    let user = Some(("me", "s:cret"));
    // The Base64 form of `me:s:cret`.
    let basic = Some("Basic bWU6czpjcmV0");
    for (kind, scheme) in [
        (Kind::Http(None), "http://"),
        (Kind::Http(basic), "http://me:s%3Acret@"),
        (Kind::Socks(None), "socks5://"),
        (Kind::Socks(user), "socks5://me:s%3Acret@"),
    ] {
        let server = server().await;
        let middlebox = Middlebox::start(kind, server.address()).await;
        let connection = through(&format!("{scheme}{}", middlebox.address())).await;
        let host = TestHost::start_with(connection, &format!("{WATCH}{}", reader())).await.unwrap();
        host.synced().await;
        host.lines.until("writer", "an answer", |lines| !lines.is_empty()).await;
        assert!(host.lines.of("writer")[0].starts_with("get ok "), "{scheme} {:?}", host.lines.of("writer"));
        host.stop().await;

        let destinations = middlebox.destinations();
        assert!(!destinations.is_empty(), "{scheme}");
        assert!(destinations.iter().all(|name| name == "api.invalid:6443"), "{scheme} {destinations:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let server = server().await;
    for (kind, scheme, why) in [
        (Kind::Http(Some("Basic x")), "http://me:s3cret@", "proxy authorization required"),
        (Kind::Socks(Some(("me", "other"))), "socks5://me:s3cret@", "SOCKS error"),
    ] {
        let middlebox = Middlebox::start(kind, server.address()).await;
        let connection = through(&format!("{scheme}{}", middlebox.address())).await;
        let host = TestHost::start_with(connection, &format!("{WATCH}{}", reader())).await.unwrap();
        let named = format!("the proxy {}://{}/", scheme.split(':').next().unwrap(), middlebox.address());

        host.until("the failure", |status| {
            let status = status.to_string();
            status.contains(&named) && status.contains(why)
        })
        .await;

        assert!(!host.status().to_string().contains("s3cret"));
        host.stop().await;
    }
}

/// A plugin that requests `/livez` of each of these addresses, which all are granted.
fn fetching(addresses: &[SocketAddr]) -> String {
    let (grants, requests): (Vec<_>, Vec<_>) = addresses
        .iter()
        .map(|address| {
            (format!("\"http://{address}/\""), format!("{{ authority = \"{address}\", path = \"/livez\" }}"))
        })
        .unzip();
    format!(
        "[[plugin]]\nname = \"fetch\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n\
         [plugin.grant]\nhttp = [{}]\n[plugin.config]\nrequests = [{}]\n",
        guest("fetch"),
        grants.join(", "),
        requests.join(", "),
    )
}

/// The ports are those that the system chose, which no configuration names.
#[tokio::test(flavor = "multi_thread")]
async fn no_plugin_reaches_the_endpoints_of_its_host() {
    let server = server().await;
    let host = TestHost::start_adjusted(&server.url(), WATCH, |config| {
        config.host.admin = Some(HttpAddress::Tcp("127.0.0.1:0".parse().unwrap()));
        config.host.health = Some("127.0.0.1:0".parse().unwrap());
    })
    .await
    .unwrap();
    let admin = host.app().admin_address().and_then(HttpAddress::tcp).unwrap();
    let health = host.app().health_address().unwrap();

    host.app()
        .apply(configuration(&(WATCH.to_owned() + &fetching(&[admin, health]))).unwrap())
        .await
        .unwrap();
    host.lines.until("fetch", "both answers", |lines| lines.len() > 1).await;

    assert_eq!(host.lines.of("fetch")[..2], ["HttpRequestDenied", "HttpRequestDenied"]);
    host.stop().await;
}

/// The address of the kubeconfig is not among those that the API server lists.
#[tokio::test(flavor = "multi_thread")]
async fn no_plugin_reaches_an_endpoint_that_the_api_server_lists_for_itself() {
    let server = server().await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        open.push(listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, Router::new().fallback("alive")).into_future());
    }
    let [listed, other] = open[..] else { panic!("{open:?}") };
    let slice = json!({
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [listed.ip()]}],
        "ports": [{"name": "https", "port": listed.port()}],
    });
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let slices: Api<EndpointSlice> = Api::default_namespaced(client);
    slices.create(&PostParams::default(), &serde_json::from_value(slice).unwrap()).await.unwrap();

    let configuration = WATCH.to_owned() + &fetching(&[listed, other]);
    let host = TestHost::start(&server.url(), &configuration).await.unwrap();
    host.lines.until("fetch", "both answers", |lines| lines.len() > 1).await;

    assert_eq!(host.lines.of("fetch")[..2], ["HttpRequestDenied", "200 alive"]);
    host.stop().await;
}
