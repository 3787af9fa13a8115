//! The connections of the host to the API server, as a program on the way sees them.

mod middlebox;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{host::TestHost, writer::Writer};
use serde_json::json;

use crate::configmaps::ConfigMaps;
use middlebox::{Kind, Middlebox};

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
