//! The client for the API server that the configuration means.

mod api_client;
mod keepalive;
mod token_file;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

pub(crate) use api_client::KubeClient;

use crate::config::Access;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A kubeconfig was meant, and it cannot be used.
    #[error(
        "the kubeconfig cannot be used: {0}; name another under [cluster] kubeconfig, or another context under [cluster] context"
    )]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// Nothing was said, and nothing was found.
    #[error(
        "no cluster is configured: {0}; set [cluster] kubeconfig or server in informer.toml, or try without a cluster by `informer dev`"
    )]
    Inferred(#[from] kube::config::InferConfigError),
    /// The client refuses what the configuration says.
    #[error("no client can be made for {server}: {source}")]
    Client {
        /// The URL.
        server: String,
        /// Why.
        source: kube::Error,
    },
}

/// A client, and where it connects to.
#[derive(Clone)]
pub struct Connection {
    /// Without retries of its own and without a read timeout: the reflectors do both, and show it. A connection
    /// whose peer has gone breaks within a minute and a quarter.
    pub client: Client,
    /// For texts.
    pub server: String,
}

/// Makes the client. Opens no connection; kubeconfig and certificates are read.
///
/// # Errors
/// [`ConnectError`], with what to set.
pub async fn connect(access: &Access) -> Result<Connection, ConnectError> {
    let mut config = match access {
        Access::Inferred => Config::infer().await?,
        Access::Server(url) => Config::new(url.clone()),
        Access::Kubeconfig { path, context } => {
            let options = KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
            match path {
                Some(path) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
                None => Config::from_kubeconfig(&options).await?,
            }
        }
    };
    config.default_retry = false;
    config.read_timeout = None;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = keepalive::client(config)
        .map_err(|source| ConnectError::Client { server: server.clone(), source })?;
    Ok(Connection { client, server })
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({})", self.server)
    }
}
