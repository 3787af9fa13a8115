//! A real kube-apiserver on a real etcd, for tests that must check against Kubernetes itself.
//!
//! Both are built from the Go modules in `tests/cluster` and kept in the user's cache. Each test starts its own
//! [`RealCluster`], which shares no port, file or process with others. A test fails if a program is neither in the cache
//! nor can be built, so mark it with `#[ignore = "needs Go: run by cargo xtask test --all"]`.
//!
//! Without a [node](crate::node) there is no kubelet and no scheduler. With [`Options::controllers`], pods are created and stay pending. Without
//! it, nothing reacts to the objects of a test; even the roles `view`, `edit` and `admin` are empty, because a
//! controller fills them.

use std::{net::SocketAddr, path::Path, time::Duration};

use anyhow::{Context, Result, bail};
use kube::{Client, Config, config::Kubeconfig};
use tokio::time::{self, Instant};

mod options;
pub(crate) mod port;
mod process;
mod site;
mod user;

pub use informer_programs::{Unavailable, cosign, helm, kubectl, oracle, promtool};
pub use options::Options;
pub(crate) use process::Process;
pub use user::User;

use process::POLL;
use site::Site;

/// The timeout of one request for the readiness of the server.
const ASK_WITHIN: Duration = Duration::from_secs(2);

/// A running cluster. Dropping it kills its processes and removes its directory, also during a panic of a test.
#[derive(Debug)]
pub struct RealCluster {
    // The fields are dropped in this order, so each process ends before the process that it talks to.
    controllers: Option<Process>,
    apiserver: Option<Process>,
    etcd: Process,
    certificate_authority: Vec<u8>,
    options: Options,
    site: Site,
}

// === impl RealCluster ===

impl RealCluster {
    /// Starts a cluster and waits until `/readyz` of its API server succeeds. Builds missing programs first.
    ///
    /// # Errors
    /// Fails if a program is not available, ended early, or was not ready in time. The error contains the end of the logs.
    ///
    /// # Cancel safety
    /// A dropped call leaves no process behind. A build that has started runs to its end.
    pub async fn start(options: Options) -> Result<Self> {
        let site = Site::prepare(&options).await?;
        let etcd = site.start_etcd()?;
        let mut cluster = Self {
            controllers: None,
            apiserver: None,
            etcd,
            certificate_authority: Vec::new(),
            options,
            site,
        };
        cluster.start_apiserver().await?;
        cluster.controllers =
            cluster.site.start_controllers(&cluster.kubeconfig(User::Admin), &cluster.options)?;
        Ok(cluster)
    }

    /// The address of the API server. It stays the same and reserved for the life of the cluster.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.site.apiserver_address()
    }

    /// The base URL of the API server, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address())
    }

    /// The bearer token of an administrator.
    #[must_use]
    pub fn admin_token(&self) -> &'static str {
        User::Admin.token()
    }

    /// A kubeconfig (YAML) without references to other files.
    #[must_use]
    pub fn kubeconfig(&self, user: User) -> String {
        self.kubeconfig_through(user, self.address())
    }

    /// A kubeconfig for another loopback port, for example of a [`FaultProxy`](crate::proxy::FaultProxy). The
    /// server's certificate names 127.0.0.1 and no port.
    #[must_use]
    pub fn kubeconfig_through(&self, user: User, address: SocketAddr) -> String {
        user::kubeconfig(user, address, &self.certificate_authority)
    }

    /// A new client with its own connections.
    ///
    /// # Errors
    /// Fails if the TLS configuration is refused.
    pub async fn client(&self, user: User) -> Result<Client> {
        client_of(&self.kubeconfig(user)).await
    }

    /// A new client for another loopback port, like [`Self::kubeconfig_through`].
    ///
    /// # Errors
    /// Fails if the TLS configuration is refused.
    pub async fn client_through(&self, user: User, address: SocketAddr) -> Result<Client> {
        client_of(&self.kubeconfig_through(user, address)).await
    }

    /// The directory with the logs, the data and the certificates of the servers.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.site.directory()
    }

    /// Stops the API server like a rolling upgrade: it ends its watches and then itself. From then on, connections
    /// are refused. Does nothing if the server is stopped.
    ///
    /// # Errors
    /// Fails if the server did not end in time and was killed.
    pub async fn stop_apiserver(&mut self) -> Result<()> {
        match self.apiserver.take() {
            Some(apiserver) => apiserver.stop().await,
            None => Ok(()),
        }
    }

    /// Kills the API server like a crash: connections break. Does nothing if the server is stopped.
    pub fn kill_apiserver(&mut self) {
        self.apiserver = None;
    }

    /// Starts a stopped API server on the same address and the same data, and waits until it is ready.
    ///
    /// Its watch cache starts at the current revision: watches from older versions get status 410.
    ///
    /// # Errors
    /// Fails if the server runs already, ended early, or was not ready in time.
    pub async fn start_apiserver(&mut self) -> Result<()> {
        if self.apiserver.is_some() {
            bail!("kube-apiserver runs already; stop_apiserver or kill_apiserver comes first");
        }
        self.apiserver = Some(self.site.start_apiserver(&self.options)?);
        self.wait_until_ready().await
    }

    /// Calls [`Self::stop_apiserver`] and then [`Self::start_apiserver`].
    ///
    /// # Errors
    /// Fails like the two functions.
    pub async fn restart_apiserver(&mut self) -> Result<()> {
        self.stop_apiserver().await?;
        self.start_apiserver().await
    }

    /// Compacts etcd at its current revision. Returns that revision.
    ///
    /// From now on, a watch from a version that is older by two or more gets status 410, unless the watch cache of
    /// the API server still has the version: see [`Options::watch_cache`] and [`Self::start_apiserver`]. A watch from
    /// the version just before misses only the revision itself, which etcd keeps.
    ///
    /// # Errors
    /// Fails if etcd does not answer within 30 s.
    pub async fn compact(&self) -> Result<u64> {
        self.site.compact().await
    }

    /// Stops all processes in order and removes the directory.
    ///
    /// # Errors
    /// Fails if a server did not end in time and was killed.
    pub async fn shutdown(mut self) -> Result<()> {
        if let Some(controllers) = self.controllers.take() {
            controllers.stop().await?;
        }
        self.stop_apiserver().await?;
        self.etcd.stop().await
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + self.options.ready_within;
        loop {
            self.etcd.check_running()?;
            let Some(apiserver) = &mut self.apiserver else { bail!("kube-apiserver is stopped") };
            apiserver.check_running()?;
            let Err(problem) = self.ask_whether_ready().await else { return Ok(()) };
            if Instant::now() > deadline {
                let logs = self.apiserver.iter().chain([&self.etcd]).map(Process::log_tail);
                let logs = logs.collect::<Vec<_>>().join("\n");
                return Err(problem.context(format!(
                    "kube-apiserver is not ready after {:?}\n{logs}",
                    self.options.ready_within
                )));
            }
            time::sleep(POLL).await;
        }
    }

    async fn ask_whether_ready(&mut self) -> Result<()> {
        // The file is read each time: at the first start it does not exist at first, and then it is incomplete.
        self.certificate_authority = self.site.certificate_authority()?;
        let client = self.client(User::Admin).await?;
        let request = http::Request::get("/readyz").body(Vec::new())?;
        let answer =
            time::timeout(ASK_WITHIN, client.request_text(request)).await.context("request /readyz")??;
        if answer == "ok" { Ok(()) } else { bail!("/readyz answers `{answer}`") }
    }
}

async fn client_of(kubeconfig: &str) -> Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    Ok(Client::try_from(config)?)
}
