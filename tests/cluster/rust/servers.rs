//! The servers of the cluster themselves.

use informer_tests::cluster::{Options, RealCluster, User};
use kube::api::ListParams;
use serde_json::Value;
use tokio::time::timeout;

use crate::support::{SOON, config_maps, create, kubectl};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn kubectl_has_the_version_of_the_server_and_creates_a_deployment() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let kubectl = kubectl(&cluster).await;

    let version: Value = serde_json::from_str(&kubectl.prints(&["version", "--output=json"]).await).unwrap();
    let created = kubectl.prints(&["create", "deployment", "web", "--image=nginx", "--output=name"]).await;
    let image = kubectl.prints(&["get", "deployment/web", "-ojsonpath={..image}"]).await;

    assert_eq!(version["serverVersion"]["gitVersion"], "v1.36.3");
    assert_eq!(version["clientVersion"]["gitVersion"], "v1.36.3");
    assert_eq!(created.trim(), "deployment.apps/web");
    assert_eq!(image, "nginx");
    cluster.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn with_controllers_a_deployment_creates_pods() {
    let cluster = RealCluster::start(Options { controllers: true, ..Options::default() }).await.unwrap();
    let kubectl = kubectl(&cluster).await;

    kubectl.prints(&["create", "deployment", "web", "--image=nginx", "--replicas=2"]).await;
    kubectl.prints(&["wait", "pod", "--selector=app=web", "--for=create", "--timeout=50s"]).await;
    kubectl.prints(&["wait", "replicaset", "-lapp=web", "--for=jsonpath={.status.replicas}=2"]).await;

    let phases = kubectl.prints(&["get", "pods", "-lapp=web", "-ojsonpath={.items[*].status.phase}"]).await;
    assert_eq!(phases, "Pending Pending");
    cluster.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_token_without_permissions_is_forbidden_until_one_is_granted() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let kubectl = kubectl(&cluster).await;
    let admin = config_maps(cluster.client(User::Admin).await.unwrap());
    let informer = config_maps(cluster.client(User::Informer).await.unwrap());
    create(&admin, "one").await;

    let Err(kube::Error::Api(status)) = informer.list(&ListParams::default()).await else {
        panic!("a token without rights may list");
    };
    kubectl.prints(&["create", "clusterrole", "reader", "--verb=get", "--resource=configmaps"]).await;
    kubectl
        .prints(&["create", "clusterrolebinding", "informer", "--clusterrole=reader", "--user=informer"])
        .await;

    assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
    // The authorizer receives the binding through its own watch.
    let granted = async { while informer.get("one").await.is_err() {} };
    timeout(SOON, granted).await.expect("the granted permission does not take effect");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn dropping_a_cluster_removes_its_servers_and_files() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let (address, directory) = (cluster.address(), cluster.directory().to_owned());
    assert!(directory.join("etcd.log").is_file());

    drop(cluster);

    let refused = tokio::net::TcpStream::connect(address).await.map_err(|error| error.kind());
    assert_eq!(refused.err(), Some(std::io::ErrorKind::ConnectionRefused));
    assert!(!directory.exists());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_server_that_ends_early_is_reported_with_its_log() {
    let apiserver_flags = vec!["--no-such-flag".into()];

    let error = RealCluster::start(Options { apiserver_flags, ..Options::default() }).await.unwrap_err();

    let error = format!("{error:#}");
    assert!(error.contains("kube-apiserver ended with exit status: 1"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}
