//! The real kube-apiserver accepts what the chart and the overlays install.

use std::{fs, time::Duration};

use informer_tests::{
    cluster::{Options, RealCluster, User},
    command_line::CommandLine,
    host::PATIENCE,
};
use tokio::time::{sleep, timeout};

use crate::manifests::deployed;

/// A cluster whose controllers make pods of Deployments, and its kubectl.
async fn cluster() -> (RealCluster, CommandLine) {
    let cluster = RealCluster::start(Options { controllers: true, ..Options::default() }).await.unwrap();
    let kubectl = CommandLine::kubectl(&cluster.kubeconfig(User::Admin)).await;
    (cluster, kubectl)
}

/// Waits until a pod of the Deployment exists. Its namespace enforces the Pod Security Standard `restricted`.
async fn admitted(kubectl: &CommandLine, namespace: &str) {
    let pods = ["get", "pods", "--namespace", namespace, "--output=name"];
    let created = async {
        while kubectl.prints(&pods).await.is_empty() {
            sleep(Duration::from_millis(100)).await;
        }
    };
    if timeout(PATIENCE, created).await.is_err() {
        panic!("{}", kubectl.prints(&["describe", "replicaset", "--namespace", namespace]).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_server_accepts_the_overlays_and_admits_their_pod() {
    let (cluster, kubectl) = cluster().await;
    for namespace in ["shop", "cellar"] {
        kubectl.prints(&["create", "namespace", namespace]).await;
    }
    for (name, namespace) in [("default", "informer"), ("example", "example")] {
        let folder = deployed("kustomize/overlays").join(name);
        let folder = folder.to_str().unwrap();
        // A dry run makes no namespace, and the others need it.
        let space = deployed("kustomize/overlays").join(name).join("namespace.yaml");
        kubectl.prints(&["apply", "--server-side", "-f", space.to_str().unwrap()]).await;

        let rehearsed = kubectl.prints(&["apply", "--server-side", "--dry-run=server", "-k", folder]).await;
        let applied = kubectl.prints(&["apply", "--server-side", "-k", folder]).await;
        let again = kubectl.prints(&["apply", "--server-side", "-k", folder]).await;

        assert!(
            rehearsed.contains("deployment.apps/informer serverside-applied (server dry run)"),
            "{rehearsed}"
        );
        assert_eq!(rehearsed.lines().count(), applied.lines().count());
        assert_eq!(applied, again);
        admitted(&kubectl, namespace).await;
    }
    cluster.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_release_is_installed_reconfigured_without_a_restart_and_removed() {
    let (cluster, kubectl) = cluster().await;
    let helm = CommandLine::helm(&cluster.kubeconfig(User::Admin)).await;
    let chart = deployed("helm/informer");
    let chart = chart.to_str().unwrap();
    kubectl.prints(&["create", "namespace", "apps"]).await;
    kubectl.prints(&["label", "namespace", "apps", "pod-security.kubernetes.io/enforce=restricted"]).await;
    let changed = helm.home().join("informer.toml");
    let shipped = fs::read_to_string(deployed("helm/informer/files/informer.toml")).unwrap();
    fs::write(&changed, shipped.replace("[[plugin]]", "[[watch]]\ngvr = \"v1/configmaps\"\n\n[[plugin]]"))
        .unwrap();
    let config = format!("--set-file=config={}", changed.display());
    let roles = format!("--set-file=rbac.manifest={}", deployed("helm/informer/files/rbac.yaml").display());
    let generation =
        ["get", "deployment", "informer", "--namespace=apps", "-ojsonpath={.metadata.generation}"];

    helm.prints(&["install", "informer", chart, "--namespace=apps", "--dry-run=server"]).await;
    let notes = helm.prints(&["install", "informer", chart, "--namespace=apps"]).await;
    admitted(&kubectl, "apps").await;
    let before = kubectl.prints(&generation).await;
    helm.prints(&["upgrade", "informer", chart, "--namespace=apps", &config, &roles]).await;

    assert!(notes.contains("kubectl -n apps exec deployment/informer -- informer status"), "{notes}");
    let configuration = ["get", "configmap", "informer", "--namespace=apps", "-oyaml"];
    assert!(kubectl.prints(&configuration).await.contains("v1/configmaps"));
    assert_eq!(kubectl.prints(&generation).await, before, "a changed configuration restarts the pod");

    helm.prints(&["uninstall", "informer", "--namespace=apps"]).await;
    let left = kubectl
        .prints(&["get", "all,roles,rolebindings,networkpolicies,pdb", "--namespace=apps", "--output=name"])
        .await;
    assert!(!left.contains("informer"), "{left}");
    cluster.shutdown().await.unwrap();
}

/// The two strategies of the Deployment have no key in common.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_release_gets_several_pods_and_one_again() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let kubectl = CommandLine::kubectl(&cluster.kubeconfig(User::Admin)).await;
    let helm = CommandLine::helm(&cluster.kubeconfig(User::Admin)).await;
    let chart = deployed("helm/informer");
    let chart = chart.to_str().unwrap();
    let path = "-ojsonpath={.spec.replicas} {.spec.strategy.type}";
    let deployment = ["get", "deployment", "informer", "--namespace=default", path];
    helm.prints(&["install", "informer", chart, "--namespace=default"]).await;
    for (replicas, expected) in
        [("replicas=2", "2 RollingUpdate"), ("replicas=0", "0 Recreate"), ("replicas=1", "1 Recreate")]
    {
        let upgrade = ["upgrade", "informer", chart, "--namespace=default", "--set", replicas];
        let notes = helm.prints(&upgrade).await;

        assert_eq!(kubectl.prints(&deployment).await, expected);
        let named = notes.contains("kubectl -n default get lease informer");
        assert_eq!(named, replicas == "replicas=2", "{notes}");
    }
    cluster.shutdown().await.unwrap();
}
