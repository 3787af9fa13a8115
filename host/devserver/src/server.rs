//! The server: a listener, its connections, and how it stops.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{api::Api, config::Config, object::Object, rest, routes, status::ApiError, storage::ObjectKey};

/// How long requests in hand may take to finish when the server stops. Watches end at once.
const DRAIN: Duration = Duration::from_secs(2);
/// How long to wait after the listener failed: the usual reason is a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// An API server in this process, without etcd, controllers, authentication or TLS.
///
/// It keeps what real clients (kubectl, client-go, kube-rs) rely on: discovery, the verbs, optimistic
/// concurrency, and the list and watch rules. Everything is in memory and gone with it.
#[derive(Debug)]
pub struct DevServer {
    address: SocketAddr,
    api: Arc<Api>,
    connections: TaskTracker,
    stop: CancellationToken,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is not loopback, and that was not permitted.
    #[error(
        "{0} can be reached by other machines and there is no authentication: use a loopback address, or allow it"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The namespaces every cluster has could not be made.
    #[error("the initial namespaces could not be created: {0}")]
    Bootstrap(String),
}

/// Why an object could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("object {index} cannot be loaded: {problem}")]
pub struct LoadError {
    /// Its place in what was given, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub problem: String,
}

// === impl DevServer ===

impl DevServer {
    /// Starts a server with the namespaces every cluster has. It answers when this returns.
    ///
    /// # Errors
    /// [`StartError`]: an address that is not permitted or not free.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let address = config.address;
        if !address.ip().is_loopback() && !config.allow_remote {
            return Err(StartError::NotLoopback(address));
        }
        let bind_error = |source| StartError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind_error)?;
        let address = listener.local_addr().map_err(bind_error)?;
        let stop = CancellationToken::new();
        let api = Arc::new(Api::new(config, stop.clone()));
        create_namespaces(&api).map_err(|error| StartError::Bootstrap(error.to_json().to_string()))?;
        let connections = TaskTracker::new();
        connections.spawn(rest::run_namespaces(api.clone()));
        let router = routes::router(api.clone());
        connections.spawn(accept(listener, router, connections.clone(), stop.clone()));
        tracing::info!(%address, "development API server listens");
        Ok(Self { address, api, connections, stop })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A kubeconfig (YAML) whose only context is this server.
    pub fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: informer-dev\n  cluster:\n    server: {}\n\
             users:\n- name: informer-dev\n  user: {{}}\ncontexts:\n- name: informer-dev\n  context:\n    \
             cluster: informer-dev\n    user: informer-dev\n    namespace: default\n\
             current-context: informer-dev\n",
            self.url()
        )
    }

    /// The resourceVersion of the last write.
    pub fn resource_version(&self) -> u64 {
        self.api.storage.revision().current()
    }

    /// Creates objects as they are, status and UID included; each gets a new resourceVersion, and
    /// namespaces that are missing are made. Stops at the first that cannot be created.
    ///
    /// # Errors
    /// [`LoadError`]: which object, and the `Status` message that a client would get.
    pub fn load(&self, objects: Vec<Value>) -> Result<(), LoadError> {
        for (index, document) in objects.into_iter().enumerate() {
            self.load_one(document).map_err(|problem| LoadError { index, problem })?;
        }
        Ok(())
    }

    fn load_one(&self, document: Value) -> Result<(), String> {
        let object = Object::from_value(document).ok_or("it is no JSON object with metadata")?;
        let (version, kind) = (object.api_version(), object.kind());
        let resource = self.api.registry.by_kind(version, kind);
        let resource = resource.ok_or_else(|| format!("{version} {kind} is not served"))?;
        let status = |error: ApiError| error.to_json().to_string();
        if resource.namespaced && !object.namespace().is_empty() {
            create_namespace(&self.api, object.namespace()).map_err(status)?;
        }
        rest::seed(&self.api, &resource, object).map(drop).map_err(status)
    }

    /// Forgets the history up to `resource_version`: a watch from before it, and a page of a list
    /// from before it, gets a 410. Open watches are not disturbed.
    pub fn compact(&self, resource_version: u64) {
        self.api.storage.compact(resource_version);
    }

    /// Ends the watches that are open now, as a server that restarts or a proxy that gives up does
    /// . New ones can be opened at once.
    pub fn end_watches(&self) {
        self.api.end_watches();
    }

    /// Stops: takes no more connections, ends open watches at once, gives requests in hand 2 s.
    /// Dropping the server does the same without waiting.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.connections.close();
        self.connections.wait().await;
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        self.stop.cancel();
        self.connections.close();
    }
}

async fn accept(listener: TcpListener, router: Router, connections: TaskTracker, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(serve(stream, router.clone(), stop.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(ACCEPT_PAUSE) => {}
                }
            }
        }
    }
}

async fn serve(stream: TcpStream, router: Router, stop: CancellationToken) {
    // Watch frames are small and wanted now. A socket that cannot do it is only slower.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was not set");
    }
    let builder = auto::Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let result = tokio::select! {
        biased;
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(DRAIN, connection).await.unwrap_or(Ok(()))
        }
        result = connection.as_mut() => result,
    };
    // A client that hangs up in the middle of a watch is how watches usually end.
    if let Err(error) = result {
        tracing::debug!(error, "connection ended with an error");
    }
}

fn create_namespaces(api: &Api) -> Result<(), ApiError> {
    rest::INITIAL_NAMESPACES.iter().try_for_each(|name| create_namespace(api, name))
}

fn create_namespace(api: &Api, name: &str) -> Result<(), ApiError> {
    let namespaces = api.builtin("", "v1", "namespaces")?;
    if api.collection(&namespaces).get(&ObjectKey::new("", name)).is_some() {
        return Ok(());
    }
    let document = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let object = Object::from_value(document).unwrap_or_default();
    match rest::create(api, &namespaces, "", object, false) {
        Err(error) if error.code() != http::StatusCode::CONFLICT => Err(error),
        _ => Ok(()),
    }
}
