//! The client for the API server.

mod api_client;
mod client;
mod credential_command;
mod credential_files;
mod impersonation;
mod keepalive;
mod kubeconfig;
mod proxy;
mod renewal;
mod reviews;
mod rotating;
mod sender;
mod token_file;
mod user_agent;

use std::path::PathBuf;

use http::{Uri, uri::Authority};
use kube::{
    Client, Config,
    config::{InClusterError, Kubeconfig, KubeconfigError},
};

pub(crate) use api_client::KubeClient;
pub use credential_command::CredentialCommandError;
pub use credential_files::CredentialFileError;
pub use kubeconfig::LoadKubeconfigError;
pub use proxy::ProxyError;
pub(crate) use reviews::Reviews;

use client::client;
use credential_command::CredentialCommand;
use credential_files::{named_cluster, named_user};
use kubeconfig::Loaded;
use proxy::Proxy;
use renewal::renewal;

use crate::config::Access;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    Kubeconfig(#[from] LoadKubeconfigError),
    /// No cluster is configured, and none was found.
    #[error(
        "no cluster is configured: failed to infer config: in-cluster: ({in_cluster}), kubeconfig: ({kubeconfig}); set [cluster] kubeconfig or server in informer.toml, or use `informer dev` without a cluster"
    )]
    Inferred {
        /// Why the ServiceAccount of a pod is not used.
        in_cluster: Box<InClusterError>,
        /// Why no kubeconfig is used.
        #[source]
        kubeconfig: KubeconfigError,
    },
    /// The proxy cannot be used.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
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
    /// URL of the API server, for texts. It has no credentials.
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
    let (mut config, named) = configured(access).await?;
    config.default_retry = false;
    config.read_timeout = None;
    let server = without_credentials(&config.cluster_url);
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

/// The URL without a slash at its end, and without the user and the password that a kubeconfig may have in it.
fn without_credentials(server: &Uri) -> String {
    let text = server.to_string();
    let text = text.trim_end_matches('/');
    match server.authority().map(Authority::as_str).and_then(|whole| Some((whole, whole.rsplit_once('@')?))) {
        Some((whole, (_, host))) => text.replacen(whole, host, 1),
        None => text.to_owned(),
    }
}

async fn configured(access: &Access) -> Result<(Config, Named), ConnectError> {
    let (loaded, context) = match access {
        Access::Inferred => return inferred(&kubeconfig::paths(), Config::incluster).await,
        Access::Server(url) => return Ok((Config::new(url.clone()), Named::default())),
        Access::Kubeconfig { path: Some(path), context } => (Loaded::at(path)?, context),
        Access::Kubeconfig { path: None, context } => (Loaded::required(&kubeconfig::paths())?, context),
    };
    of_kubeconfig(loaded, context.as_deref()).await
}

/// The configuration of the kubeconfig at these paths, or of the pod if there is no kubeconfig, as in client-go. A kubeconfig that
/// cannot be used is an error: the pod may be in another cluster than the one that the operator named.
async fn inferred(
    paths: &[PathBuf],
    in_cluster: impl FnOnce() -> Result<Config, InClusterError>,
) -> Result<(Config, Named), ConnectError> {
    if let Some(loaded) = Loaded::merged(paths)?.filter(|loaded| !loaded.is_empty()) {
        tracing::info!(kubeconfig = %loaded.place(), "the kubeconfig names the API server");
        return of_kubeconfig(loaded, None).await;
    }
    match in_cluster() {
        Ok(config) => {
            tracing::info!("there is no kubeconfig: the host uses the ServiceAccount of its pod");
            Ok((config, Named::default()))
        }
        Err(error) => {
            Err(ConnectError::Inferred { in_cluster: Box::new(error), kubeconfig: kubeconfig::absent(paths) })
        }
    }
}

async fn of_kubeconfig(loaded: Loaded, context: Option<&str>) -> Result<(Config, Named), ConnectError> {
    let named = Named::of(loaded.kubeconfig(), context);
    Ok((loaded.config(context).await?, named))
}

#[cfg(test)]
mod tests {
    use std::{env::VarError, fs};

    use tempfile::TempDir;

    use super::*;

    fn write(directory: &TempDir, name: &str, text: &str) -> PathBuf {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A kubeconfig with this current context, for the context `a`.
    fn text(current: &str, cluster: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {current}\n\
             clusters:\n- name: a\n  cluster: {{server: 'https://a.example', {cluster}}}\n\
             contexts:\n- name: a\n  context: {{cluster: a, user: absent}}\n"
        )
    }

    fn in_pod() -> Result<Config, InClusterError> {
        Ok(Config::new("https://10.0.0.1".parse().unwrap()))
    }

    #[tokio::test]
    async fn a_kubeconfig_that_cannot_be_used_is_an_error_and_not_replaced_by_the_pod() {
        let directory = TempDir::new().unwrap();
        for (broken, why) in [
            ("contexts: {".to_owned(), "failed to parse kubeconfig YAML"),
            (text("b", ""), "failed to load current context: b"),
            (text("''", ""), "failed to determine current context"),
            (text("a", "certificate-authority: absent.crt"), "failed to load certificate authority"),
        ] {
            let path = write(&directory, "kubeconfig", &broken);

            let refused = inferred(std::slice::from_ref(&path), in_pod).await.err().unwrap().to_string();

            let expected = format!("the kubeconfig {} cannot be used: {why}", path.display());
            assert!(refused.starts_with(&expected), "{refused}");
        }
    }

    #[tokio::test]
    async fn the_pod_is_used_only_if_all_kubeconfigs_are_absent_or_empty() {
        let directory = TempDir::new().unwrap();
        let absent = directory.path().join("absent");
        let empty = write(&directory, "empty", "");
        let bare =
            write(&directory, "bare", "apiVersion: v1\nkind: Config\ncurrent-context: ''\nusers: []\n");
        for paths in [vec![], vec![absent.clone()], vec![absent.clone(), empty.clone(), bare.clone()]] {
            let (config, named) = inferred(&paths, in_pod).await.ok().unwrap();
            assert_eq!(config.cluster_url, "https://10.0.0.1/");
            assert_eq!((named.proxy, named.authority, named.user), (None, None, String::new()));
        }

        // kube does not require that the user exists.
        let full = write(&directory, "full", &text("a", "proxy-url: 'http://proxy.example:3128'"));
        let (config, named) = inferred(&[absent, empty, bare, full], in_pod).await.ok().unwrap();
        assert_eq!(config.cluster_url, "https://a.example/");
        assert_eq!(named.proxy.as_deref(), Some("http://proxy.example:3128"));
    }

    /// The log, the status and errors show the URL.
    #[tokio::test]
    async fn no_text_shows_the_password_in_the_url_of_a_kubeconfig() {
        let directory = TempDir::new().unwrap();
        let with_password = text("a", "proxy-url: ''").replace("https://", "http://jane:hunter2@");
        let path = write(&directory, "kubeconfig", &with_password);

        let connection = connect(&Access::Kubeconfig { path: Some(path), context: None }).await.unwrap();

        assert_eq!(connection.server, "http://a.example");
        for (url, shown) in
            [("https://a:b@[::1]:6443/k8s/", "https://[::1]:6443/k8s"), ("http://a:1/", "http://a:1")]
        {
            assert_eq!(without_credentials(&url.parse().unwrap()), shown);
        }
    }

    #[tokio::test]
    async fn without_a_kubeconfig_and_a_service_account_no_cluster_is_configured() {
        let directory = TempDir::new().unwrap();
        let absent = directory.path().join("absent");
        let in_cluster = || Err(InClusterError::ReadEnvironmentVariable(VarError::NotPresent));

        let refused = inferred(std::slice::from_ref(&absent), in_cluster).await.err().unwrap().to_string();

        assert_eq!(
            refused,
            format!(
                "no cluster is configured: failed to infer config: in-cluster: (failed to read an incluster environment \
                 variable: environment variable not found), kubeconfig: (failed to read kubeconfig from '{absent:?}': No \
                 such file or directory (os error 2)); set [cluster] kubeconfig or server in informer.toml, or use \
                 `informer dev` without a cluster"
            )
        );
    }
}
