//! A sender of requests: a pool of connections of one kind.

use http::{Request, Response, Uri, uri::Scheme};
use hyper::{
    body::Incoming,
    rt::{Read, Write},
};
use hyper_util::{
    client::legacy::{
        Client as HyperClient,
        connect::{Connect, Connection},
    },
    rt::TokioExecutor,
};
use kube::{
    Config,
    client::{Body, ConfigExt},
};
use tower::{BoxError, Service, ServiceExt, util::BoxCloneService};

/// Sends requests over connections of its own. Clones share them.
pub(super) type Sender = BoxCloneService<Request<Body>, Response<Incoming>, BoxError>;

/// Makes a sender over these connections, with the TLS of the configuration unless the API server is plain HTTP.
///
/// # Errors
/// The certificates cannot be used.
pub(super) fn sender<C>(connector: C, config: &Config) -> Result<Sender, kube::Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + Unpin + 'static,
    C::Error: Into<BoxError>,
{
    // Plain HTTP needs no certificate authorities.
    if config.cluster_url.scheme() == Some(&Scheme::HTTP) {
        return Ok(BoxCloneService::new(hyper(connector).map_err(BoxError::from)));
    }
    let tls = config.rustls_https_connector_with_connector(connector)?;
    Ok(BoxCloneService::new(hyper(tls).map_err(BoxError::from)))
}

fn hyper<C: Connect + Clone>(connector: C) -> HyperClient<C, Body> {
    HyperClient::builder(TokioExecutor::new()).build(connector)
}
