//! The server: its listener, its connections and its shutdown.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use informer_system::{HttpLimits, HttpListener, descriptors};
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    api::Api, config::Config, consequence, namespace, object::Object, routes, status::ApiError,
    storage::ObjectKey, write,
};

/// How long requests in flight may take when the server stops. Watches end at once.
const DRAIN: Duration = Duration::from_secs(2);
/// The time in which a request must arrive as a whole, and the longest silence between two requests. Clients of
/// Kubernetes keep an idle connection for 90 s.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most requests at once on a connection with HTTP/2, as in kube-apiserver.
const STREAMS: u32 = 100;

/// An API server in this process, without etcd, controllers, authentication or TLS.
///
/// It provides what real clients (kubectl, client-go, kube-rs) rely on: discovery, all verbs, optimistic concurrency,
/// and the rules of lists and watches. All objects are in memory and are lost when it stops.
#[derive(Debug)]
pub struct DevServer {
    address: SocketAddr,
    api: Arc<Api>,
    connections: TaskTracker,
    stop: CancellationToken,
}

/// The reason why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is not loopback, and the configuration does not permit it.
    #[error(
        "{0} can be reached by other machines and there is no authentication: use a loopback address, or allow it"
    )]
    NotLoopback(SocketAddr),
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}")]
    Bind {
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The namespaces that every cluster has could not be created.
    #[error("the initial namespaces could not be created: {0}")]
    Bootstrap(String),
}

/// The reason why an object could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("object {index} cannot be loaded: {problem}")]
pub struct LoadError {
    /// The index of the object in the list, counted from 0.
    pub index: usize,
    /// The problem with the object.
    pub problem: String,
}

// === impl DevServer ===

impl DevServer {
    /// Starts a server with the namespaces that every cluster has. The server accepts requests when this returns.
    ///
    /// # Errors
    /// [`StartError`] if the address is not permitted or not free.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let address = config.address;
        if !address.ip().is_loopback() && !config.allow_remote {
            return Err(StartError::NotLoopback(address));
        }
        let bind_error = |source| StartError::Bind { address, source };
        let limits = limits(config.connection_limit);
        let listener = HttpListener::bind(address, limits).await.map_err(bind_error)?;
        let address = listener.address().tcp().unwrap_or(address);
        let stop = CancellationToken::new();
        let api = Arc::new(Api::new(config, stop.clone()));
        for name in namespace::INITIAL {
            let failure = |error: ApiError| StartError::Bootstrap(error.document().to_string());
            create_namespace(&api, name).map_err(failure)?;
        }
        let connections = TaskTracker::new();
        connections.spawn(consequence::empty_marked_namespaces(api.clone()));
        let router = routes::router(api.clone());
        connections.spawn(listener.serve(router, stop.clone()));
        tracing::info!(%address, "development API server listens");
        Ok(Self { address, api, connections, stop })
    }

    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, such as `http://127.0.0.1:40123`.
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
        self.api.storage.revision.current()
    }

    /// Creates objects as they are, including status and UID. Each object gets a new resourceVersion, and missing
    /// namespaces are created. Stops at the first object that cannot be created.
    ///
    /// # Errors
    /// [`LoadError`] with the index of the object and the `Status` that a client would receive.
    pub fn load(&self, objects: Vec<Value>) -> Result<(), LoadError> {
        for (index, document) in objects.into_iter().enumerate() {
            self.load_one(document).map_err(|problem| LoadError { index, problem })?;
        }
        Ok(())
    }

    fn load_one(&self, document: Value) -> Result<(), String> {
        let object = Object::from_value(document).ok_or("it is not a JSON object with metadata")?;
        let (version, kind) = (object.api_version(), object.kind());
        let resource = self.api.registry.by_kind(version, kind);
        let resource = resource.ok_or_else(|| format!("{version} {kind} is not served"))?;
        let status = |error: ApiError| error.document().to_string();
        if resource.namespaced && !object.namespace().is_empty() {
            create_namespace(&self.api, object.namespace()).map_err(status)?;
        }
        let written = write::seed(&self.api, &resource, object);
        consequence::settle(&self.api, written).map(drop).map_err(status)
    }

    /// Forgets the history up to `resource_version`: earlier watches and pages of earlier lists fail with
    /// 410. Open watches continue.
    pub fn compact(&self, resource_version: u64) {
        self.api.storage.compact(resource_version);
    }

    /// Ends the watches that are open now, as a restarting server or a proxy with a timeout does. New watches can
    /// be opened at once.
    pub fn end_watches(&self) {
        self.api.end_watches();
    }

    /// Stops the server: accepts no more connections, ends open watches at once, and waits at most 2 s for requests in
    /// flight. Dropping the server does the same without waiting.
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

/// A quarter of the descriptors: a client in this process needs one more for each connection.
fn limits(connections: usize) -> HttpLimits {
    let most = usize::try_from(descriptors::limit() / 4).unwrap_or(usize::MAX);
    HttpLimits {
        connections: connections.min(most).max(1),
        patience: PATIENCE,
        streams: STREAMS,
        drain: DRAIN,
    }
}

fn create_namespace(api: &Api, name: &str) -> Result<(), ApiError> {
    let namespaces = namespace::resource(api)?;
    if api.collection(&namespaces).get(&ObjectKey::new("", name)).is_some() {
        return Ok(());
    }
    let document = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let object = Object::from_value(document).unwrap_or_default();
    match consequence::settle(api, write::create(api, &namespaces, "", object, false)) {
        Err(error) if error.code() != http::StatusCode::CONFLICT => Err(error),
        _ => Ok(()),
    }
}
