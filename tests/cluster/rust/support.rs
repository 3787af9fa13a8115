//! Shared helpers of these tests.

use std::{path::Path, pin::pin, time::Duration};

use futures::{Stream, StreamExt};
use informer_tests::cluster::{RealCluster, User, kubectl};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams, WatchEvent, WatchParams},
};
use tokio::{process::Command, time::timeout};

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
pub(crate) struct Kubectl<'a> {
    program: std::path::PathBuf,
    directory: &'a Path,
}

impl<'a> Kubectl<'a> {
    pub(crate) async fn of(cluster: &'a RealCluster) -> Self {
        let program = tokio::task::spawn_blocking(kubectl).await.unwrap().unwrap();
        std::fs::write(cluster.directory().join("kubeconfig"), cluster.kubeconfig(User::Admin)).unwrap();
        Self { program, directory: cluster.directory() }
    }

    /// Runs kubectl, which must succeed, and returns its output.
    pub(crate) async fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(&self.program)
            .env("KUBECONFIG", self.directory.join("kubeconfig"))
            // The caches of kubectl are removed with the cluster.
            .env("HOME", self.directory)
            .args(arguments)
            .kill_on_drop(true)
            .output();
        let output = timeout(SOON, output).await.expect("kubectl hangs").unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {}: {complaint}", arguments.join(" "));
        String::from_utf8(output.stdout).unwrap()
    }
}
