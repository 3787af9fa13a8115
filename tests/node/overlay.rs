//! The host as kustomize installs it.

use std::time::Instant;

use crate::installed::{Installed, report};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and containerd: run by cargo xtask test --node"]
async fn the_default_overlay_runs_the_example_of_the_image_and_ends_in_time() {
    let installed = Installed::start().await;
    let kubectl = installed.kubectl();
    let overlay = format!("{}/../host/deploy/kustomize/overlays/default", env!("CARGO_MANIFEST_DIR"));

    let began = Instant::now();
    kubectl.prints(&["apply", "--server-side", "-k", &overlay]).await;
    let pod = installed.ready().await;
    report("installed by kustomize, ready by the kubelet's probes", began);

    kubectl.prints(&["create", "deployment", "web", "--image=web", "--replicas=0", "--namespace=shop"]).await;
    installed.until_log(&pod, "the new Deployment", |log| log.contains("added shop/web ")).await;
    let status = installed.exec(&["status"]).await;
    assert!(status.contains("apps/v1/deployments"), "{status}");

    let began = Instant::now();
    kubectl.prints(&["delete", "pod", &pod, "--namespace=informer", "--wait=true"]).await;
    report("an idle host ends", began);
    assert!(began.elapsed().as_secs() < 15, "the host did not end by itself");
    let next = installed.ready().await;
    assert_ne!(next, pod);
    installed.node.shutdown().await.unwrap();
}
