//! A watch of a resource whose CRD is created and deleted (D-12), with the embedded server.

use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    orders::{self, Orders},
    toml::{plugin, watch},
};

use crate::configmaps::ConfigMaps;

/// A configuration with one plugin that subscribes to ConfigMaps and to orders.
fn configuration() -> String {
    let lines = format!("[[plugin.on]]\nwatch = \"{}\"", orders::GVR);
    ["v1/configmaps", orders::GVR].map(watch).concat()
        + &plugin("echo", &guest("echo"), "v1/configmaps", &lines)
}

fn orders_of(host: &TestHost) -> serde_json::Value {
    let status = host.status();
    let informers = status["informers"].as_array().unwrap();
    informers.iter().find(|informer| informer["watch"] == orders::GVR).unwrap().clone()
}

/// The watch waits until the resource is served, delivers its objects, delivers their deletions when the CRD is
/// deleted, and starts again with the next CRD (D-12).
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_waits_for_its_crd_and_delivers_deletions_when_the_crd_is_deleted() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let (orders, configmaps) = (Orders::at(client), ConfigMaps::at(&server.url()).await);
    let host = TestHost::start(&server.url(), &configuration()).await.unwrap();

    // A resource that is not served does not stop the plugin.
    configmaps.create("first").await;
    host.lines.said("echo", "add default/first ", "").await;
    // The two informers start at the same time, and an object is delivered before its list is known to be complete.
    host.until("a host that waits for the CRD alone", |_| {
        orders_of(&host)["phase"] == "waiting-for-resource" && host.unready().len() == 1
    })
    .await;
    let [reason] = &host.unready()[..] else { panic!("{:?}", host.unready()) };
    assert!(
        reason.ends_with(
            "; what helps: install the CRD orders.shop.example.com that serves v1, or correct the gvr"
        ),
        "{reason}"
    );

    for round in 1..=2 {
        orders.install().await.unwrap();
        let name = format!("order-{round}");
        orders.create(&name).await.unwrap();
        host.lines.said("echo", &format!("add default/{name} "), "").await;
        // An object is delivered before the list is known to be complete.
        host.until("the end of the list", |_| host.unready().is_empty()).await;
        assert_eq!(host.cached(orders::GVR).len(), 1);

        orders.uninstall().await.unwrap();
        host.lines.said("echo", &format!("delete default/{name} "), "").await;
        host.until("the wait for the CRD", |_| orders_of(&host)["phase"] == "waiting-for-resource").await;
        assert!(host.cached(orders::GVR).is_empty());
        // The host still serves the other resource.
        assert_eq!(host.unready(), Vec::<String>::new());
        configmaps.update("first", round).await;
        host.until("the update", |_| {
            let lines = host.lines.of("echo");
            lines.iter().filter(|line| line.starts_with("update default/first ")).count() == round
        })
        .await;
    }
    host.stop().await;
}
