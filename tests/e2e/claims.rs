//! Informers run only for the plugins that use them (D-12).

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};

use crate::configmaps::ConfigMaps;

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_runs_only_if_a_plugin_subscribes_to_it_or_may_read_it() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("something").await;
    let grant = "[plugin.grant]\nread = [\"v1/namespaces\"]";
    let config = "[plugin.config]\ngvr = \"v1/namespaces\"\nwhat = \"list-meta\"";
    let toml = ["v1/configmaps", "v1/namespaces", "apps/v1/deployments"].map(watch).concat()
        + &plugin("reader", &guest("reader"), "v1/configmaps", &format!("{grant}\n{config}"));
    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    host.synced().await;

    host.lines.until("reader", "the namespaces", |lines| lines.iter().any(|line| line == "default")).await;
    let status = host.status();
    let watches: Vec<&str> = status["informers"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|informer| informer["watch"].as_str())
        .collect();
    assert_eq!(watches, ["v1/configmaps", "v1/namespaces"]);
    assert_eq!(host.unready(), Vec::<String>::new());
    host.stop().await;
}
