//! Resync: unchanged objects are delivered again with the cause `resync`. This is no relist (D-5), and it starts after the
//! subscriber has synced (P-16).

use informer_guests::deployments_rust;
use informer_tests::host::TestHost;

use crate::cluster::{Cluster, WATCH, plugin};

#[tokio::test(flavor = "multi_thread")]
async fn each_deployment_is_delivered_again_as_an_unchanged_update() {
    let component = tokio::task::spawn_blocking(deployments_rust).await.unwrap();
    let cluster = Cluster::start().await;
    let nginx = cluster.deployments.create("nginx").await;
    let web = cluster.deployments.create("web").await;
    let configuration = WATCH.to_owned() + &plugin("rust", &component, "resync = \"1s\"");
    let host = TestHost::start(&cluster.server.url(), &configuration).await.unwrap();

    let again = [
        format!("updated default/nginx (rv {nginx} -> {nginx}, resync)"),
        format!("updated default/web (rv {web} -> {web}, resync)"),
    ];
    let twice = |lines: &[String]| {
        again.iter().all(|wanted| lines.iter().filter(|line| *line == wanted).count() >= 2)
    };
    host.lines.until("rust", "each resync line twice", twice).await;
    let report = host.stop().await;
    assert!(report.undelivered.is_empty(), "{report:?}");
    cluster.server.shutdown().await;
}
