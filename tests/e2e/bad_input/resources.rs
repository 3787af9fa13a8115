//! Watches of resources that the server does not serve.

use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    orders::{self, Orders},
    toml::{plugin, watch},
};

use super::configuration;
use crate::configmaps::ConfigMaps;

/// Adds another watch and its plugin to [`configuration`].
fn with_watch(gvr: &str) -> String {
    configuration() + &watch(gvr) + &plugin("other", &guest("echo"), gvr, "")
}

/// Waits until the host reports `expected` for the watch. The other watch and its plugin work.
async fn is_reported_and_the_rest_works(server: &DevServer, gvr: &str, expected: &str) -> TestHost {
    let host = TestHost::start(&server.url(), &with_watch(gvr)).await.unwrap();
    let reported = |reason: &String| {
        let start = format!(
            "{gvr}: waiting-for-resource, not synced, 0 objects; waiting for the resource to be served"
        );
        reason.starts_with(&start) && reason.contains(expected)
    };
    host.until(
        "the other watch alone to be told",
        |_| matches!(&host.unready()[..], [reason] if reported(reason)),
    )
    .await;

    let name = "from-the-healthy-watch";
    ConfigMaps::at(&server.url()).await.create(name).await;
    host.lines.said("echo", &format!("add default/{name} "), "").await;
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_resource_is_reported_with_a_suggestion() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let expected = ": apps/v1 has no resource `deploymnets`; did you mean `deployments`";

    let host = is_reported_and_the_rest_works(&server, "apps/v1/deploymnets", expected).await;

    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_not_served_is_reported_and_watched_when_its_crd_appears() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let expected = format!(": {} has no API shop.example.com/v1", server.url());
    let host = is_reported_and_the_rest_works(&server, orders::GVR, &expected).await;

    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let orders = Orders::at(client);
    orders.install().await.unwrap();
    orders.create("first").await.unwrap();

    host.lines.said("other", "add default/first ", "").await;
    host.synced().await;
    assert_eq!(host.unready(), Vec::<String>::new());
    host.stop().await;
}
