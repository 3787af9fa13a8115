//! Shared helpers of these tests.

use std::{pin::pin, time::Duration};

use futures::{Stream, StreamExt};
use informer_tests::{
    cluster::{RealCluster, User},
    command_line::CommandLine,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams, WatchEvent, WatchParams},
};
use tokio::time::timeout;

/// The deadline of each wait.
pub(crate) const SOON: Duration = Duration::from_secs(60);

pub(crate) fn config_maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

/// Creates a ConfigMap and returns its resource version.
pub(crate) async fn create(api: &Api<ConfigMap>, name: &str) -> String {
    let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
    let object = ConfigMap { metadata, ..ConfigMap::default() };
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    created.metadata.resource_version.unwrap()
}

/// The status code with which a watch from `version` is refused. Returns `None` if the watch begins.
pub(crate) async fn refusal(api: &Api<ConfigMap>, version: &str) -> Option<u16> {
    let watch = match api.watch(&WatchParams::default(), version).await {
        Ok(watch) => watch,
        Err(kube::Error::Api(status)) => return Some(status.code),
        Err(error) => panic!("the watch failed in another way: {error}"),
    };
    match next(&mut pin!(watch)).await {
        Some(Ok(WatchEvent::Error(status))) => Some(status.code),
        Some(Ok(_)) => None,
        end => panic!("the watch ended in another way: {end:?}"),
    }
}

pub(crate) async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    timeout(SOON, stream.next()).await.expect("no event within the deadline")
}

/// A kubectl with the rights of the cluster's administrator.
pub(crate) async fn kubectl(cluster: &RealCluster) -> CommandLine {
    CommandLine::kubectl(&cluster.kubeconfig(User::Admin)).await
}
