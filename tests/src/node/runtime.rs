//! containerd.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{network, run::run};
use crate::cluster::Process;

/// The image of the process that holds the namespaces of a pod. It is one of the imported images.
const SANDBOX: &str = "localhost/busybox:1";

const READY_WITHIN: Duration = Duration::from_secs(30);

/// A running containerd with images and state of its own.
#[derive(Debug)]
pub(super) struct Runtime {
    _process: Process,
    directory: PathBuf,
}

// === impl Runtime ===

impl Runtime {
    pub(super) async fn start(directory: &Path) -> Result<Self> {
        let networks = directory.join("networks");
        fs::create_dir_all(&networks)?;
        fs::write(networks.join("pods.conflist"), bridge(directory).to_string())?;
        let file = directory.join("containerd.toml");
        fs::write(&file, configuration(directory))?;
        let arguments = ["--config".into(), file.display().to_string()];
        let log = directory.join("containerd.log");
        let process = Process::spawn("containerd", Path::new("containerd"), &arguments, log)?;
        let mut runtime = Self { _process: process, directory: directory.to_owned() };
        let deadline = Instant::now() + READY_WITHIN;
        while let Err(problem) = runtime.control(&["version"]).await {
            runtime._process.check_running()?;
            if Instant::now() > deadline {
                return Err(problem.context("containerd is not ready"));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(runtime)
    }

    /// The address of containerd for the kubelet.
    pub(super) fn endpoint(&self) -> String {
        format!("unix://{}", self.socket())
    }

    /// Imports the images of an archive.
    pub(super) async fn import(&self, archive: &Path) -> Result<()> {
        let archive = archive.to_str().context("the path of an image is no text")?;
        self.control(&["images", "import", archive]).await?;
        Ok(())
    }

    /// The identifier of the main process of a container.
    pub(super) async fn process(&self, container: &str) -> Result<u32> {
        let tasks = self.control(&["tasks", "list"]).await?;
        let mut rows = tasks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|row| row.first() == Some(&container));
        match row.as_deref() {
            Some([_, process, ..]) => Ok(process.parse()?),
            _ => bail!("there is no container {container} in\n{tasks}"),
        }
    }

    fn socket(&self) -> String {
        self.directory.join("run/containerd.sock").display().to_string()
    }

    async fn control(&self, arguments: &[&str]) -> Result<String> {
        run("ctr", &[&["--address", &self.socket(), "--namespace", "k8s.io"], arguments].concat()).await
    }

    /// Runs `ctr` while this is dropped, and returns what it printed.
    fn control_now(&self, arguments: &[&str]) -> String {
        let output = Command::new("ctr")
            .args(["--address", &self.socket(), "--namespace", "k8s.io"])
            .args(arguments)
            .output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }
}

impl Drop for Runtime {
    /// Containers outlive containerd, so the containers end first. Failures are ignored.
    fn drop(&mut self) {
        for container in self.control_now(&["containers", "list", "--quiet"]).lines() {
            self.control_now(&["tasks", "delete", "--force", container]);
            self.control_now(&["containers", "delete", container]);
        }
        let own = self.directory.display().to_string();
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let mut places: Vec<&str> = mounts
            .lines()
            .filter_map(|line| line.split(' ').nth(1))
            .filter(|place| place.starts_with(&own))
            .collect();
        // The last mounts are inside the first ones, so they are unmounted first.
        places.reverse();
        for place in places {
            let _ = Command::new("umount").args(["--lazy", place]).output();
        }
        let groups =
            ["/sys/fs/cgroup", "/sys/fs/cgroup/*"].map(|root| format!("{root}/kubepods {root}/k8s.io"));
        let remove = format!("find {} -depth -type d -exec rmdir {{}} + 2> /dev/null", groups.join(" "));
        let _ = Command::new("sh").args(["-c", &remove]).output();
        let links = ["/var/log/containers", "-lname", &format!("{own}/*"), "-delete"];
        let _ = Command::new("find").args(links).output();
    }
}

/// The network of pods, for the plugins of CNI.
fn bridge(directory: &Path) -> serde_json::Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "bridge",
            "bridge": "pods0",
            "isGateway": true,
            "ipMasq": false,
            "hairpinMode": true,
            "ipam": {
                "type": "host-local",
                "dataDir": directory.join("addresses"),
                "ranges": [[{"subnet": network::PODS}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}

/// The last two options of the runtime are for machines that are containers themselves: no capability to lower the score of the OOM
/// killer, and no place for network namespaces outside.
fn configuration(directory: &Path) -> String {
    let own = directory.display();
    format!(
        r#"version = 2
root = "{own}/containerd"
state = "{own}/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "{own}/run/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{SANDBOX}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{own}/networks"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        BinaryName = "/usr/sbin/runc"
"#
    )
}
