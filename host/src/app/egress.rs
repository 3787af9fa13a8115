//! The HTTP client of all plugins, and the addresses that no plugin may reach.

mod control_plane;

use std::{path::PathBuf, sync::Arc};

use http::{Uri, uri::Scheme};
use informer_runtime::capabilities::{
    ApiClient, Fence, HttpClient, HttpConfig, HttpConfigError, Protected, Wire,
};

use super::blocking::on_a_thread;
use crate::{
    config::{Host, read_authorities},
    election::{Leadership, NOT_LEADING},
};
use control_plane::ControlPlane;

/// The variables that name the API server in every Pod.
const IN_CLUSTER: (&str, &str) = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT");

/// Why the HTTP client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The file of `http-ca` cannot be read.
    #[error(
        "{}, which is http-ca under [host], cannot be read: {source}; name another file, or remove the key",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] HttpConfigError),
}

/// Makes the client. It opens no connection, and reads the file of `http-ca`.
///
/// No plugin may reach the API server: at `server`, at the Service `kubernetes` if the host runs in a Pod, and at the addresses that
/// the API server lists through `api`. The host cannot find other addresses of the control plane, such as that of a load balancer in
/// front of it: list them in `http-deny`. With a `wire`, nothing leaves this process. No request is sent while the host does not lead.
///
/// # Errors
/// [`EgressError`], with the remedy.
pub(crate) async fn http_client(
    host: &Host,
    server: &str,
    api: Arc<dyn ApiClient>,
    wire: Option<Arc<dyn Wire>>,
    leadership: Leadership,
) -> Result<HttpClient, EgressError> {
    let extra_authorities = match &host.http_ca {
        Some(path) => {
            let path = path.clone();
            let read = on_a_thread(move || match read_authorities(&path) {
                Ok(bytes) => Ok(bytes),
                Err(error) => Err(EgressError::Unreadable { path, source: error.into() }),
            });
            read.await?
        }
        None => Vec::new(),
    };
    let control_plane = api_server(server).into_iter().chain(service());
    Ok(HttpClient::new(HttpConfig {
        protected: control_plane.collect(),
        api_server: Some(Arc::new(ControlPlane::new(api))),
        deny: host.http_deny.clone(),
        extra_authorities,
        wire,
        fence: Some(Arc::new(leadership)),
        ..HttpConfig::default()
    })?)
}

impl Fence for Leadership {
    fn closed(&self) -> Option<&'static str> {
        (!self.holds()).then_some(NOT_LEADING)
    }
}

fn api_server(server: &str) -> Option<Protected> {
    let uri: Uri = server.parse().ok()?;
    let default = if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
    let port = uri.port_u16().unwrap_or(default);
    Some(Protected { what: "the API server", host: uri.host()?.to_owned(), port })
}

fn service() -> Option<Protected> {
    let host = std::env::var(IN_CLUSTER.0).ok().filter(|host| !host.is_empty())?;
    let port = std::env::var(IN_CLUSTER.1).ok().and_then(|port| port.parse().ok()).unwrap_or(443);
    Some(Protected { what: "the API server", host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another host may lead already (E-9).
    #[test]
    fn a_host_that_does_not_hold_its_lease_sends_no_http_request() {
        let closed = [Leadership::never(), Leadership::unconditional()].map(|leadership| leadership.closed());

        assert_eq!(closed, [Some(NOT_LEADING), None]);
    }

    #[test]
    fn the_api_server_of_a_url_is_protected_by_host_and_port() {
        for (url, host, port) in [
            ("https://10.0.0.1:6443", "10.0.0.1", 6443),
            ("https://k8s.example.com/k8s/clusters/c-1", "k8s.example.com", 443),
            ("http://[::1]:8001", "[::1]", 8001),
            ("http://localhost", "localhost", 80),
        ] {
            let expected = Protected { what: "the API server", host: host.to_owned(), port };
            assert_eq!(api_server(url), Some(expected), "{url}");
        }
    }
}
