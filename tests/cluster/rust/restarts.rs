//! Restarts of the API server: objects survive, watches and old versions do not.

use std::{io::ErrorKind, pin::pin};

use informer_tests::cluster::{Options, RealCluster, User};
use kube::api::WatchParams;
use tokio::net::TcpStream;

use crate::support::{config_maps, create, next, refusal};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn objects_and_their_versions_survive_a_restart_and_a_crash() {
    let mut cluster = RealCluster::start(Options::default()).await.unwrap();
    let api = config_maps(cluster.client(User::Admin).await.unwrap());
    let address = cluster.address();
    let version = create(&api, "kept").await;

    cluster.stop_apiserver().await.unwrap();
    let refused = TcpStream::connect(address).await.map_err(|error| error.kind());
    cluster.start_apiserver().await.unwrap();
    let restarted = api.get("kept").await.unwrap();
    cluster.kill_apiserver();
    cluster.start_apiserver().await.unwrap();
    let recovered = api.get("kept").await.unwrap();

    assert_eq!(refused.err(), Some(ErrorKind::ConnectionRefused));
    assert_eq!(cluster.address(), address);
    assert_eq!(restarted.metadata.resource_version, Some(version));
    assert_eq!(recovered, restarted);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn stopping_the_server_ends_an_open_watch_without_an_error() {
    let mut cluster = RealCluster::start(Options::default()).await.unwrap();
    let api = config_maps(cluster.client(User::Admin).await.unwrap());
    let version = create(&api, "one").await;
    let mut watch = pin!(api.watch(&WatchParams::default(), &version).await.unwrap());
    create(&api, "two").await;
    assert!(matches!(next(&mut watch).await, Some(Ok(kube::api::WatchEvent::Added(_)))));

    cluster.stop_apiserver().await.unwrap();

    assert!(next(&mut watch).await.is_none(), "the stream ends without an error");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn without_a_watch_cache_a_compacted_version_is_gone() {
    let cluster = RealCluster::start(Options { watch_cache: false, ..Options::default() }).await.unwrap();
    let api = config_maps(cluster.client(User::Admin).await.unwrap());
    let old = create(&api, "one").await;
    create(&api, "two").await;
    create(&api, "three").await;
    assert_eq!(refusal(&api, &old).await, None, "before the compaction the version is available");

    let compacted = cluster.compact().await.unwrap();

    assert!(compacted > old.parse::<u64>().unwrap() + 1);
    assert_eq!(refusal(&api, &old).await, Some(410));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_watch_cache_remembers_a_compacted_version_until_the_server_restarts() {
    let mut cluster = RealCluster::start(Options::default()).await.unwrap();
    let api = config_maps(cluster.client(User::Admin).await.unwrap());
    let old = create(&api, "one").await;
    create(&api, "two").await;
    create(&api, "three").await;

    cluster.compact().await.unwrap();
    let remembered = refusal(&api, &old).await;
    cluster.restart_apiserver().await.unwrap();

    assert_eq!(remembered, None);
    assert_eq!(refusal(&api, &old).await, Some(410));
}
