//! Informers that a bug of the host ends: they start again, and their plugins miss nothing.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use informer::{
    admin::{Check, Outcome, Probe},
    config::Access,
    connect::{Connection, connect},
};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::{PATIENCE, TestHost},
    proxy::FaultProxy,
    toml::{plugin, watch},
};
use kube::{Client, client::Body};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::configmaps::ConfigMaps;

/// A connection whose next watches end in a panic of the task that requests them.
async fn panicking(url: &str, left: Arc<AtomicU32>) -> Connection {
    let Connection { client, server, .. } = connect(&Access::Server(url.parse().unwrap())).await.unwrap();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, left) = (client.clone(), Arc::clone(&left));
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let bug = is_watch
                && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            assert!(!bug, "a bug of ours");
            client.send(request).await
        }
    });
    Connection::new(Client::new(service, "default"), server)
}

fn restarts(status: &Value) -> u64 {
    status["informers"][0]["counters"]["restarts"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_informer_that_bugs_end_starts_again_and_liveness_fails_if_it_keeps_ending() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let proxy = FaultProxy::start(server.address()).unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("one").await;
    let bugs = Arc::new(AtomicU32::new(0));
    let connection = panicking(&format!("http://{}", proxy.address()), Arc::clone(&bugs)).await;
    let toml = watch("v1/configmaps") + &plugin("echo", &guest("echo"), "v1/configmaps", "");
    let host = TestHost::start_with(connection, &toml).await.unwrap();
    host.synced().await;
    let alive = Check { what: "watch v1/configmaps".to_owned(), outcome: Outcome::Ok };
    assert_eq!(host.app().probe().liveness(), std::slice::from_ref(&alive));

    bugs.store(1, Ordering::SeqCst);
    proxy.cut().await;
    host.until("the first restart", |status| restarts(status) == 1).await;
    objects.create("two").await;
    objects.delete("one").await;
    host.lines.said("echo", "add default/two ", "").await;
    host.lines.said("echo", "delete default/one ", "").await;
    assert_eq!(host.app().probe().liveness(), [alive]);
    assert!(
        host.metrics().contains("informer_cache_restarts_total{watch=\"v1/configmaps\"} 1.0\n"),
        "{}",
        host.metrics()
    );

    bugs.store(4, Ordering::SeqCst);
    proxy.cut().await;
    let deadline = Instant::now() + PATIENCE;
    while host.app().probe().liveness().iter().all(|check| check.outcome == Outcome::Ok) {
        assert!(Instant::now() < deadline, "{:#}", host.status());
        sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(restarts(&host.status()), 5);
    // The plugin is served from the cache meanwhile, and receives what comes.
    objects.create("three").await;
    host.lines.said("echo", "add default/three ", "").await;
    assert_eq!(host.unready(), Vec::<String>::new());
    host.stop().await;
}
