//! Clients for the server.

use std::time::Duration;

use hyper_util::{
    client::legacy::{Builder, Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::client::{Body, ClientBuilder, ConfigExt};

use crate::FaultServer;

/// The version of HTTP that a client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1: one request at a time on a connection.
    Http1,
    /// HTTP/2 with prior knowledge: any number of requests on one connection.
    Http2,
}

// === impl HttpVersion ===

impl HttpVersion {
    /// Both versions.
    pub const ALL: [Self; 2] = [Self::Http1, Self::Http2];
}

// === impl FaultServer ===

impl FaultServer {
    /// A client for this server with the settings of the host's own client: no retries and no read timeout.
    ///
    /// `kube` itself only supports HTTP/1.1. The client for HTTP/2 uses the same HTTP library.
    ///
    /// # Errors
    /// `kube` rejects the address.
    pub fn client(&self, version: HttpVersion) -> kube::Result<kube::Client> {
        match version {
            HttpVersion::Http1 => kube::Client::try_from(self.client_config()),
            HttpVersion::Http2 => Ok(self.http2_client(&http2())),
        }
    }

    /// A client for HTTP/2 that sends a ping after a silence of `ping` while a request is open. If no answer to the
    /// ping arrives within another `ping`, the client closes the connection.
    #[must_use]
    pub fn pinging_client(&self, ping: Duration) -> kube::Client {
        let mut builder = http2();
        builder.timer(TokioTimer::new()).http2_keep_alive_interval(ping).http2_keep_alive_timeout(ping);
        self.http2_client(&builder)
    }

    fn http2_client(&self, builder: &Builder) -> kube::Client {
        let client: Client<HttpConnector, Body> = builder.build_http();
        let config = self.client_config();
        ClientBuilder::new(client, config.default_namespace.clone())
            .with_layer(&config.base_uri_layer())
            .build()
    }

    fn client_config(&self) -> kube::Config {
        // An address and a port are always a valid URL.
        let url = format!("http://{}", self.address()).parse().unwrap_or_default();
        let mut config = kube::Config::new(url);
        config.default_retry = false;
        config.read_timeout = None;
        config
    }
}

fn http2() -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.http2_only(true);
    builder
}
