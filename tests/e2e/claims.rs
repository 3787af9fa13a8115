//! Informers run only for the plugins that use them (D-12).

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::TestHost;

use crate::configmaps::ConfigMaps;

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_runs_only_if_a_plugin_subscribes_to_it_or_may_read_it() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("something").await;
    let toml = format!(
        r#"
        [[watch]]
        gvr = "v1/configmaps"
        [[watch]]
        gvr = "v1/namespaces"
        [[watch]]
        gvr = "apps/v1/deployments"
        [[plugin]]
        name = "reader"
        source = {source:?}
          [[plugin.on]]
          watch = "v1/configmaps"
          [plugin.grant]
          read = ["v1/namespaces"]
          [plugin.config]
          gvr = "v1/namespaces"
          what = "list-meta"
        "#,
        source = guest("reader"),
    );
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
