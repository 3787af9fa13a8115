//! The fault proxy in front of the real API server with TLS.

use std::pin::pin;

use informer_tests::{
    cluster::{Options, RealCluster, User},
    proxy::{FaultProxy, Mode},
};
use kube::api::{ListParams, WatchEvent, WatchParams};

use crate::support::{config_maps, create, next};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_watch_that_the_proxy_cuts_resumes_at_its_version() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let proxy = FaultProxy::start(cluster.address()).unwrap();
    let direct = config_maps(cluster.client(User::Admin).await.unwrap());
    let api = config_maps(cluster.client_through(User::Admin, proxy.address()).await.unwrap());
    let version = create(&direct, "one").await;

    let mut watch = pin!(api.watch(&WatchParams::default(), &version).await.unwrap());
    create(&direct, "two").await;
    assert!(
        matches!(next(&mut watch).await, Some(Ok(WatchEvent::Added(it))) if it.metadata.name.as_deref() == Some("two"))
    );
    assert!(proxy.cut().await > 0);
    create(&direct, "three").await;
    let broken = next(&mut watch).await;
    let mut resumed = pin!(api.watch(&WatchParams::default(), &version).await.unwrap());

    assert!(matches!(broken, Some(Err(_))), "a cut is not an orderly end: {broken:?}");
    for expected in ["two", "three"] {
        let event = next(&mut resumed).await;
        assert!(
            matches!(&event, Some(Ok(WatchEvent::Added(it))) if it.metadata.name.as_deref() == Some(expected)),
            "{event:?} is not the addition of {expected}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_list_whose_answer_is_cut_fails() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let proxy = FaultProxy::start(cluster.address()).unwrap();
    let api = config_maps(cluster.client_through(User::Admin, proxy.address()).await.unwrap());
    create(&api, "one").await;

    // 100 bytes are less than the answer and less than a TLS handshake.
    proxy.set(Mode::CutAfter(100)).await.unwrap();
    let cut = api.list(&ListParams::default()).await;
    proxy.set(Mode::Pass).await.unwrap();
    let whole = api.list(&ListParams::default()).await;

    assert!(cut.is_err(), "{cut:?}");
    assert!(whole.unwrap().items.iter().any(|it| it.metadata.name.as_deref() == Some("one")));
}
