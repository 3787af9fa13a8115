//! A real node: kubelet, scheduler and containerd beside a [`RealCluster`].
//!
//! It needs root, the Debian packages containerd, runc, containernetworking-plugins, iptables, iproute2 and busybox-static, and a network
//! namespace of its own: `cargo xtask test --node` starts the tests by `unshare --net`. The kubelet changes settings of the kernel, which
//! are restored at the end.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, bail, ensure};
use informer_programs::{Builder, Program};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

mod kernel;
mod network;
mod run;
mod runtime;

use crate::{
    cluster::{Options, Process, RealCluster, User},
    command_line::CommandLine,
};
use kernel::Kernel;
use runtime::Runtime;

/// The name of the node.
const NAME: &str = "node";

/// How long the node may take until it is ready. It takes 5 to 10 s.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// How long pods may take to end.
const EMPTY_WITHIN: Duration = Duration::from_secs(60);

/// A cluster of one node. Dropping it kills everything that it started, also during a panic of a test.
#[derive(Debug)]
pub struct Node {
    // The fields are dropped in this order: no process restarts what the next one ends.
    kubelet: Process,
    scheduler: Process,
    runtime: Runtime,
    kubectl: CommandLine,
    cluster: RealCluster,
    _kernel: Kernel,
    directory: TempDir,
}

/// Builds the programs of a node that are not in the cache. Blocks like [`kubectl()`](crate::cluster::kubectl). A test in a network namespace of its
/// own cannot download their sources.
///
/// # Errors
/// The same as [`kubectl()`](crate::cluster::kubectl).
pub fn build_programs() -> Result<()> {
    let builder = Builder::from_env()?;
    let programs = [
        Program::Etcd,
        Program::Helm,
        Program::KubeApiserver,
        Program::KubeControllerManager,
        Program::KubeScheduler,
        Program::Kubectl,
        Program::Kubelet,
        Program::PlainRegistry,
    ];
    for program in programs {
        builder.obtain(program)?;
    }
    Ok(())
}

// === impl Node ===

impl Node {
    /// Starts a cluster and its node, imports images (archives in tar files), and waits until the node is ready.
    ///
    /// # Errors
    /// Something is missing, or a program ended early or was not ready in time.
    pub async fn start(images: &[&Path]) -> Result<Self> {
        network::prepare().await?;
        let cluster =
            RealCluster::start(Options { controllers: true, node: true, ..Options::default() }).await?;
        network::lead_to(cluster.address().port()).await?;
        let directory = tempfile::Builder::new().prefix("informer-node-").tempdir()?;
        let kernel = Kernel::remember();
        let runtime = Runtime::start(directory.path()).await?;
        for image in images {
            runtime.import(image).await?;
        }
        let kubeconfig = cluster.kubeconfig(User::Admin);
        fs::write(directory.path().join("kubeconfig"), &kubeconfig)?;
        let [kubelet, scheduler] = servers(directory.path(), &runtime).await?;
        let kubectl = CommandLine::kubectl(&kubeconfig).await;
        let node = Self { kubelet, scheduler, runtime, kubectl, cluster, _kernel: kernel, directory };
        node.ready().await
    }

    /// The API server and its users.
    #[must_use]
    pub fn cluster(&self) -> &RealCluster {
        &self.cluster
    }

    /// A kubectl with the rights of the administrator.
    #[must_use]
    pub fn kubectl(&self) -> &CommandLine {
        &self.kubectl
    }

    /// A directory of this machine that ends with the node.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The identifier of the main process of the only container of a pod.
    ///
    /// # Errors
    /// There is no such container, or several.
    pub async fn process(&self, namespace: &str, pod: &str) -> Result<u32> {
        let path = "-ojsonpath={.status.containerStatuses[0].containerID}";
        let id = self.kubectl.prints(&["get", "pod", pod, "--namespace", namespace, path]).await;
        self.runtime.process(id.trim_start_matches("containerd://")).await
    }

    /// Deletes all pods, stops all processes and removes the directory.
    ///
    /// # Errors
    /// A pod or a server did not end in time.
    pub async fn shutdown(self) -> Result<()> {
        let everywhere = ["--all-namespaces", "--wait=false"];
        self.kubectl.prints(&[["delete", "deployments", "--all"].as_slice(), &everywhere].concat()).await;
        // A test may have made thousands of pods that are on no node.
        let here = ["delete", "pods", "--field-selector=spec.nodeName=node", "--grace-period=5"];
        self.kubectl.prints(&[here.as_slice(), &everywhere].concat()).await;
        let deadline = Instant::now() + EMPTY_WITHIN;
        let scheduled =
            ["get", "pods", "--all-namespaces", "--field-selector=spec.nodeName=node", "--output=name"];
        while !self.kubectl.prints(&scheduled).await.is_empty() {
            ensure!(Instant::now() < deadline, "pods do not end");
            sleep(Duration::from_millis(200)).await;
        }
        self.kubelet.stop().await?;
        self.scheduler.stop().await?;
        drop(self.runtime);
        self.cluster.shutdown().await
    }

    async fn ready(mut self) -> Result<Self> {
        let deadline = Instant::now() + READY_WITHIN;
        let condition = "-ojsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
        loop {
            self.kubelet.check_running()?;
            self.scheduler.check_running()?;
            let answer = self.kubectl.run(&["get", "node", NAME, condition]).await;
            if answer.stdout == "True" {
                return Ok(self);
            }
            if Instant::now() > deadline {
                bail!("the node is not ready: {answer:?}\n{}", self.kubelet.log_tail());
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Starts kubelet and scheduler.
async fn servers(directory: &Path, runtime: &Runtime) -> Result<[Process; 2]> {
    let builder = Builder::from_env()?;
    let obtain = move || -> Result<[PathBuf; 2]> {
        Ok([builder.obtain(Program::Kubelet)?, builder.obtain(Program::KubeScheduler)?])
    };
    let [kubelet, scheduler] = spawn_blocking(obtain).await??;
    let file = |name: &str| directory.join(name).display().to_string();
    fs::write(file("kubelet.json"), configuration(directory, &runtime.endpoint()).to_string())?;
    let arguments = [
        format!("--config={}", file("kubelet.json")),
        format!("--kubeconfig={}", file("kubeconfig")),
        format!("--root-dir={}", file("kubelet")),
        format!("--cert-dir={}", file("kubelet/pki")),
        format!("--hostname-override={NAME}"),
        format!("--node-ip={}", network::NODE),
    ];
    let kubelet = Process::spawn("kubelet", &kubelet, &arguments, directory.join("kubelet.log"))?;
    let arguments = [
        format!("--kubeconfig={}", file("kubeconfig")),
        "--leader-elect=false".into(),
        // No client connects to it, so it needs no port.
        "--secure-port=0".into(),
    ];
    let log = directory.join("kube-scheduler.log");
    let scheduler = Process::spawn("kube-scheduler", &scheduler, &arguments, log)?;
    Ok([kubelet, scheduler])
}

/// The configuration of the kubelet. Only this network namespace reaches it, so it needs no authentication.
fn configuration(directory: &Path, runtime: &str) -> serde_json::Value {
    let none = "0%";
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network::NODE,
        "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": runtime,
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        // The disk of a build machine is not the subject of a test.
        "evictionHard": {
            "memory.available": none, "nodefs.available": none, "nodefs.inodesFree": none, "imagefs.available": none,
            "imagefs.inodesFree": none,
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "resolvConf": "",
        "nodeStatusUpdateFrequency": "5s",
        "podLogsDir": directory.join("logs"),
        "volumePluginDir": directory.join("volume-plugins"),
        "maxPods": 50,
    })
}
