//! A real kube-apiserver on a real etcd, for tests that must not take our own word for what Kubernetes does.
//!
//! Both are built from the Go modules in `tests/cluster` and kept in the user's cache. Each test starts its own
//! [`RealCluster`], which shares no port, file or process with others. A test fails if a program is neither in the cache
//! nor can be built, so mark it with `#[ignore = "needs Go: run by cargo xtask test --all"]`.
//!
//! There is no kubelet and no scheduler: with [`Options::controllers`], pods appear and stay pending. Without, nothing
//! follows from what a test writes; even the roles `view`, `edit` and `admin` are empty, as a controller fills them.

use std::{net::SocketAddr, path::Path, time::Duration};

use anyhow::{Context, Result, bail};
use kube::{Client, Config, config::Kubeconfig};
use tokio::time::{self, Instant};

mod build;
pub(crate) mod port;
mod process;
mod program;
mod site;
mod user;

pub use build::{Unavailable, kubectl, oracle};
pub use user::User;

use process::{POLL, Process};
use site::Site;

/// One question whether the server is ready may take this long.
const ASK_WITHIN: Duration = Duration::from_secs(2);

/// How a [`RealCluster`] differs from the plain one, which is the default.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the API server serves lists and watches from memory (it does by default), or from etcd.
    ///
    /// Without it a compaction is felt at once: a watch from before it is answered 410.
    pub watch_cache: bool,
    /// Whether kube-controller-manager runs too, so that deployments make pods. Off by default.
    pub controllers: bool,
    /// More flags for kube-apiserver, such as `--feature-gates=ShardedListAndWatch=true`. The last of two equal flags wins.
    pub apiserver_flags: Vec<String>,
    /// How long the API server may take until it is ready, at every start.
    pub ready_within: Duration,
}

/// A running cluster. Dropping it kills its processes and removes its directory, also while a test panics.
#[derive(Debug)]
pub struct RealCluster {
    // In this order they are dropped: nobody outlives what it talks to.
    controllers: Option<Process>,
    apiserver: Option<Process>,
    etcd: Process,
    certificate_authority: Vec<u8>,
    options: Options,
    site: Site,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            watch_cache: true,
            controllers: false,
            apiserver_flags: Vec::new(),
            // It takes 4 to 8 s alone; several start at a time on the two cores of a build machine.
            ready_within: Duration::from_secs(120),
        }
    }
}

// === impl RealCluster ===

impl RealCluster {
    /// Starts a cluster and waits until `/readyz` of its API server says so. Builds missing programs first.
    ///
    /// # Errors
    /// A program is not available, ended early, or was not ready in time. The error shows the end of the logs.
    ///
    /// # Cancel safety
    /// A dropped call leaves no process behind; a build that began runs to its end.
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
        cluster.controllers = cluster.site.start_controllers(&cluster.kubeconfig(User::Admin))?;
        Ok(cluster)
    }

    /// The API server's address. It stays the same, and nobody else's, for the cluster's life.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.site.apiserver_address()
    }

    /// The API server's base URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address())
    }

    /// The bearer token that may do everything.
    #[must_use]
    pub fn admin_token(&self) -> &'static str {
        User::Admin.token()
    }

    /// A kubeconfig (YAML) that refers to no other file.
    #[must_use]
    pub fn kubeconfig(&self, user: User) -> String {
        self.kubeconfig_through(user, self.address())
    }

    /// The same by way of another loopback port, such as that of a [`FaultProxy`](crate::proxy::FaultProxy): the
    /// server's certificate names 127.0.0.1 and no port.
    #[must_use]
    pub fn kubeconfig_through(&self, user: User, address: SocketAddr) -> String {
        user::kubeconfig(user, address, &self.certificate_authority)
    }

    /// A new client, with connections of its own.
    ///
    /// # Errors
    /// The TLS configuration is refused.
    pub async fn client(&self, user: User) -> Result<Client> {
        client_of(&self.kubeconfig(user)).await
    }

    /// A new client by way of another loopback port, as [`Self::kubeconfig_through`].
    ///
    /// # Errors
    /// The TLS configuration is refused.
    pub async fn client_through(&self, user: User, address: SocketAddr) -> Result<Client> {
        client_of(&self.kubeconfig_through(user, address)).await
    }

    /// The directory with the servers' logs, data and certificates.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.site.directory()
    }

    /// Stops the API server as a rolling upgrade does: it ends its watches, then itself. From then on connections are
    /// refused. Does nothing while it is stopped.
    ///
    /// # Errors
    /// It did not end in time and was killed.
    pub async fn stop_apiserver(&mut self) -> Result<()> {
        match self.apiserver.take() {
            Some(apiserver) => apiserver.stop().await,
            None => Ok(()),
        }
    }

    /// Kills the API server as a crash does: connections break without a word. Does nothing while it is stopped.
    pub fn kill_apiserver(&mut self) {
        self.apiserver = None;
    }

    /// Starts a stopped API server, on the same address and the same data, and waits until it is ready.
    ///
    /// Its watch cache begins at the revision of now: watches from before are answered 410.
    ///
    /// # Errors
    /// It runs already, ended early, or was not ready in time.
    pub async fn start_apiserver(&mut self) -> Result<()> {
        if self.apiserver.is_some() {
            bail!("kube-apiserver runs already; stop_apiserver or kill_apiserver comes first");
        }
        self.apiserver = Some(self.site.start_apiserver(&self.options)?);
        self.wait_until_ready().await
    }

    /// [`Self::stop_apiserver`], then [`Self::start_apiserver`].
    ///
    /// # Errors
    /// Those of the two.
    pub async fn restart_apiserver(&mut self) -> Result<()> {
        self.stop_apiserver().await?;
        self.start_apiserver().await
    }

    /// Compacts etcd at its current revision, and answers that revision.
    ///
    /// A watch from a version older by two or more is answered 410 from now on (the one before the answer misses only
    /// the answer itself, which etcd keeps), unless the API server's watch cache still remembers it: see
    /// [`Options::watch_cache`] and [`Self::start_apiserver`].
    ///
    /// # Errors
    /// etcd does not answer within 30 s.
    pub async fn compact(&self) -> Result<u64> {
        self.site.compact().await
    }

    /// Stops everything in order and removes the directory.
    ///
    /// # Errors
    /// A server did not end in time and was killed.
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
        // Read anew each time: at the first start the file is not there at first, and then incomplete.
        self.certificate_authority = self.site.certificate_authority()?;
        let client = self.client(User::Admin).await?;
        let request = http::Request::get("/readyz").body(Vec::new())?;
        let answer =
            time::timeout(ASK_WITHIN, client.request_text(request)).await.context("ask /readyz")??;
        if answer == "ok" { Ok(()) } else { bail!("/readyz says `{answer}`") }
    }
}

async fn client_of(kubeconfig: &str) -> Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    Ok(Client::try_from(config)?)
}
