//! The client for the API server.

mod api_client;
mod client;
mod credential_command;
mod credential_files;
mod impersonation;
mod keepalive;
mod proxy;
mod renewal;
mod reviews;
mod rotating;
mod sender;
mod token_file;
mod user_agent;

use std::path::PathBuf;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

pub(crate) use api_client::KubeClient;
pub use credential_command::CredentialCommandError;
pub use credential_files::CredentialFileError;
pub use proxy::ProxyError;
pub(crate) use reviews::Reviews;

use client::client;
use credential_command::CredentialCommand;
use credential_files::{check_kubeconfig, check_named, named_cluster, named_user};
use proxy::Proxy;
use renewal::renewal;

use crate::config::Access;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The configured kubeconfig cannot be used.
    #[error(
        "the kubeconfig cannot be used: {0}; name another under [cluster] kubeconfig, or another context under [cluster] context"
    )]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// No cluster is configured, and none was found.
    #[error(
        "no cluster is configured: {0}; set [cluster] kubeconfig or server in informer.toml, or use `informer dev` without a cluster"
    )]
    Inferred(#[from] kube::config::InferConfigError),
    /// The proxy cannot be used.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// A file of the credentials is no regular file, or too large.
    #[error(transparent)]
    File(#[from] CredentialFileError),
    /// The command that gives credentials cannot be run by this host.
    #[error(transparent)]
    Command(#[from] CredentialCommandError),
    /// The configuration is invalid for the client.
    #[error("no client can be made for {server}: {source}")]
    Client {
        /// URL of the API server.
        server: String,
        /// The cause.
        source: kube::Error,
    },
}

/// A client with its API server.
#[derive(Clone)]
pub struct Connection {
    /// The client has no retries and no read timeout: the reflectors have both, and show them. A connection whose peer is gone
    /// breaks within 75 seconds.
    pub client: Client,
    /// URL of the API server, for texts.
    pub server: String,
    /// The remedy if the API server does not accept the credentials.
    pub renewal: String,
}

/// Makes the client. It reads the kubeconfig and the certificates, opens no connection and runs no command for credentials: the
/// first request does both.
///
/// # Errors
/// [`ConnectError`], with the remedy.
pub async fn connect(access: &Access) -> Result<Connection, ConnectError> {
    let mut named = Named::default();
    let mut config = match access {
        Access::Inferred => {
            // Without a kubeconfig, kube looks for the service account of the pod.
            if let Ok(kubeconfig) = Kubeconfig::read() {
                check_named(&kubeconfig, None)?;
                named = Named::of(&kubeconfig, None);
            }
            Config::infer().await?
        }
        Access::Server(url) => Config::new(url.clone()),
        Access::Kubeconfig { path, context } => {
            let options = KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
            let kubeconfig = match path {
                Some(path) => {
                    check_kubeconfig(path)?;
                    Kubeconfig::read_from(path)?
                }
                None => Kubeconfig::read()?,
            };
            check_named(&kubeconfig, context.as_deref())?;
            named = Named::of(&kubeconfig, context.as_deref());
            Config::from_custom_kubeconfig(kubeconfig, &options).await?
        }
    };
    config.default_retry = false;
    config.read_timeout = None;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    if named.authority.is_some() {
        config.root_cert_file = named.authority;
    }
    let proxy = Proxy::choose(named.proxy.as_deref(), &config.cluster_url, |name| std::env::var(name).ok())?;
    // It may hold a password.
    config.proxy_url = None;
    if let Some(proxy) = &proxy {
        tracing::info!(proxy = %proxy.uri(), "requests to the API server go through a proxy");
    }
    let renewal = renewal(access, &config.auth_info, &named.user);
    let command = CredentialCommand::take(&mut config.auth_info, &named.user)?;
    let client = client(config, command, proxy)
        .map_err(|source| ConnectError::Client { server: server.clone(), source })?;
    Ok(Connection { client, server, renewal })
}

// === impl Connection ===

impl Connection {
    /// A connection with a client of the caller, whose credentials this host does not know.
    pub fn new(client: Client, server: impl Into<String>) -> Self {
        Self { client, server: server.into(), renewal: "renew the credentials of the client".to_owned() }
    }
}

/// The parts of a kubeconfig that kube does not keep.
#[derive(Default)]
struct Named {
    /// `proxy-url`.
    proxy: Option<String>,
    /// The file of the certificate authority, unless the kubeconfig contains the authority itself.
    authority: Option<PathBuf>,
    /// The name of the user.
    user: String,
}

impl Named {
    fn of(kubeconfig: &Kubeconfig, context: Option<&str>) -> Self {
        let user = named_user(kubeconfig, context).unwrap_or_default().to_owned();
        let Some(cluster) = named_cluster(kubeconfig, context) else {
            return Self { user, ..Self::default() };
        };
        let contained = cluster.certificate_authority_data.is_some();
        let authority = cluster.certificate_authority.as_ref().filter(|_| !contained).map(PathBuf::from);
        Self { proxy: cluster.proxy_url.clone(), authority, user }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({})", self.server)
    }
}
