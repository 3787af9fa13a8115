//! The programs, the files and the ports of one cluster.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use informer_programs::{Builder, Program};
use tempfile::TempDir;
use tokio::{process::Command, task};

use super::{options::Options, port::ReservedPort, process::Process, user};

/// The resources that exist before a server starts and that outlive each server.
#[derive(Debug)]
pub(super) struct Site {
    programs: Programs,
    etcd: ReservedPort,
    apiserver: ReservedPort,
    directory: TempDir,
}

#[derive(Debug)]
struct Programs {
    etcd: PathBuf,
    apiserver: PathBuf,
    controllers: Option<PathBuf>,
}

// === impl Site ===

impl Site {
    pub(super) async fn prepare(options: &Options) -> Result<Self> {
        let controllers = options.controllers;
        let programs = task::spawn_blocking(move || Programs::obtain(controllers)).await??;
        let directory = tempfile::Builder::new().prefix("informer-cluster-").tempdir()?;
        fs::write(directory.path().join("tokens.csv"), user::token_file())?;
        let site = Self {
            programs,
            etcd: ReservedPort::reserve().context("reserve a port for etcd")?,
            apiserver: ReservedPort::reserve().context("reserve a port for kube-apiserver")?,
            directory,
        };
        site.etcd_command(&["key", &site.file("service-account.key")]).await?;
        Ok(site)
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn apiserver_address(&self) -> SocketAddr {
        self.apiserver.address()
    }

    /// The certificate that the API server made for itself, and its certificate authority.
    pub(super) fn certificate_authority(&self) -> Result<Vec<u8>> {
        let path = self.file("certificates/apiserver.crt");
        fs::read(&path).with_context(|| format!("read {path}"))
    }

    pub(super) fn start_etcd(&self) -> Result<Process> {
        let arguments = ["serve".into(), self.file("etcd"), self.etcd.address().to_string()];
        Process::spawn("etcd", &self.programs.etcd, &arguments, self.directory().join("etcd.log"))
    }

    pub(super) fn start_apiserver(&self, options: &Options) -> Result<Process> {
        let mut arguments = vec![
            format!("--etcd-servers=http://{}", self.etcd.address()),
            format!("--bind-address={}", self.apiserver_address().ip()),
            format!("--secure-port={}", self.apiserver_address().port()),
            // Without this flag the server looks for a default route, which a sandbox may not have.
            format!("--advertise-address={}", self.apiserver_address().ip()),
            "--permit-port-sharing=true".into(),
            // An endpoint must not be a loopback address. Nothing here needs the `kubernetes` service.
            "--endpoint-reconciler-type=none".into(),
            format!("--cert-dir={}", self.file("certificates")),
            "--service-account-issuer=https://informer.test".into(),
            format!("--service-account-key-file={}", self.file("service-account.key")),
            format!("--service-account-signing-key-file={}", self.file("service-account.key")),
            format!("--token-auth-file={}", self.file("tokens.csv")),
            "--authorization-mode=RBAC".into(),
            "--service-cluster-ip-range=10.0.0.0/24".into(),
            format!("--watch-cache={}", options.watch_cache),
            // Together these flags end open watches first. Without them, a stop waits 60 s for the watches.
            "--shutdown-send-retry-after=true".into(),
            "--shutdown-watch-termination-grace-period=1s".into(),
        ];
        if options.node {
            arguments.push("--kubelet-preferred-address-types=InternalIP".into());
        } else {
            // Without a kubelet no pod mounts a token.
            arguments.push("--disable-admission-plugins=ServiceAccount".into());
        }
        arguments.extend_from_slice(&options.apiserver_flags);
        let log = self.directory().join("kube-apiserver.log");
        Process::spawn("kube-apiserver", &self.programs.apiserver, &arguments, log)
    }

    pub(super) fn start_controllers(&self, kubeconfig: &str, options: &Options) -> Result<Option<Process>> {
        let Some(program) = &self.programs.controllers else { return Ok(None) };
        fs::write(self.file("controllers.kubeconfig"), kubeconfig)?;
        let left_out = if options.node { "" } else { ",-nodelifecycle" };
        let arguments = [
            format!("--kubeconfig={}", self.file("controllers.kubeconfig")),
            format!("--service-account-private-key-file={}", self.file("service-account.key")),
            "--use-service-account-credentials=false".into(),
            "--leader-elect=false".into(),
            // No client connects to it, so it needs no port.
            "--secure-port=0".into(),
            // Pods verify the API server by this.
            format!("--root-ca-file={}", self.file("certificates/apiserver.crt")),
            format!("--controllers=*,-nodeipam,-cloud-node-lifecycle{left_out}"),
        ];
        let log = self.directory().join("kube-controller-manager.log");
        Process::spawn("kube-controller-manager", program, &arguments, log).map(Some)
    }

    /// Compacts etcd at its current revision. Returns that revision.
    pub(super) async fn compact(&self) -> Result<u64> {
        let printed = self.etcd_command(&["compact", &self.etcd.address().to_string()]).await?;
        printed.trim().parse().with_context(|| format!("etcd printed `{printed}`, not a revision"))
    }

    async fn etcd_command(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(&self.programs.etcd).args(arguments).kill_on_drop(true).output().await?;
        if !output.status.success() {
            bail!("etcd {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn file(&self, name: &str) -> String {
        self.directory().join(name).display().to_string()
    }
}

// === impl Programs ===

impl Programs {
    fn obtain(controllers: bool) -> Result<Self> {
        let builder = Builder::from_env()?;
        Ok(Self {
            etcd: builder.obtain(Program::Etcd)?,
            apiserver: builder.obtain(Program::KubeApiserver)?,
            controllers: controllers.then(|| builder.obtain(Program::KubeControllerManager)).transpose()?,
        })
    }
}
