//! With the real kube-apiserver: a watch of a resource whose CRD is created and deleted (D-12), and a watch of metadata
//! only.

use informer::connect::Connection;
use informer_cache::{FactoryConfig, InformerFactory, WatchConfig};
use informer_guests::guest;
use informer_tests::{
    cluster::{Options, RealCluster, User},
    host::TestHost,
    orders::{self, Orders},
};
use tokio::time::timeout;

use crate::support::{SOON, config_maps, create};

/// A host with one plugin that subscribes to ConfigMaps and orders.
async fn host(cluster: &RealCluster) -> TestHost {
    let toml = format!(
        r#"
        [[watch]]
        gvr = "v1/configmaps"
        namespaces = ["default"]
        metadata-only = true
        [[watch]]
        gvr = "{orders}"
        [[plugin]]
        name = "echo"
        source = {source:?}
          [[plugin.on]]
          watch = "v1/configmaps"
          [[plugin.on]]
          watch = "{orders}"
        "#,
        orders = orders::GVR,
        source = guest("echo"),
    );
    let client = cluster.client(User::Admin).await.unwrap();
    TestHost::start_with(Connection::new(client, cluster.url()), &toml).await.unwrap()
}

/// A watch waits for its resource. When the definition is deleted, the objects are notified as deleted and the
/// watch waits again (D-12).
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_watch_waits_for_its_definition_and_follows_its_deletion_and_recreation() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let orders = Orders::at(cluster.client(User::Admin).await.unwrap());
    let host = host(&cluster).await;

    create(&config_maps(cluster.client(User::Admin).await.unwrap()), "first").await;
    host.lines.said("echo", "add default/first ", "").await;
    let waits = "shop.example.com/v1/orders: waiting-for-resource, ";
    host.until(
        "a watch that waits for its definition",
        |_| matches!(&host.unready()[..], [reason] if reason.starts_with(waits)),
    )
    .await;
    let objects = host.cached("v1/configmaps");
    let first = objects.iter().find(|object| object["metadata"]["name"] == "first").unwrap();
    assert_eq!(
        (&first["kind"], &first["apiVersion"]),
        (&"PartialObjectMetadata".into(), &"meta.k8s.io/v1".into())
    );

    for round in 1..=2 {
        orders.install().await.unwrap();
        let name = format!("order-{round}");
        orders.create(&name).await.unwrap();
        host.lines.said("echo", &format!("add default/{name} "), "").await;
        // An object is delivered before the list is known to be complete.
        host.until("the end of the list", |_| host.unready().is_empty()).await;

        orders.uninstall().await.unwrap();
        host.lines.said("echo", &format!("delete default/{name} "), "").await;
        assert!(host.cached(orders::GVR).is_empty());
    }
    host.stop().await;
    cluster.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_client_reads_its_own_write_when_the_cache_has_its_version() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let client = cluster.client(User::Admin).await.unwrap();
    let factory = InformerFactory::new(client.clone(), FactoryConfig::default());
    let subscription = factory.subscribe(WatchConfig::new("v1/configmaps".parse().unwrap())).unwrap();
    let (informer, lister) = (subscription.informer().clone(), subscription.informer().lister());
    assert!(timeout(SOON, informer.wait_synced()).await.unwrap());

    let api = config_maps(client);
    for round in 0..50 {
        let name = format!("own-{round}");
        let version = create(&api, &name).await;
        timeout(SOON, informer.wait_for_version(&version, None)).await.unwrap().unwrap();
        let key = format!("default/{name}").parse().unwrap();
        assert_eq!(lister.get(&key).unwrap().resource_version(), version);
    }

    let released = timeout(SOON, subscription.release()).await;
    assert!(released.is_ok() && lister.is_empty());
    factory.shutdown().await;
    cluster.shutdown().await.unwrap();
}
