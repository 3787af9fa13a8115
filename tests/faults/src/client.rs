//! Clients of the server.

use std::time::Duration;

use hyper_util::{
    client::legacy::{Builder, Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::client::{Body, ClientBuilder, ConfigExt};

use crate::FaultServer;

/// The version of HTTP a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// One request at a time on a connection.
    Http1,
    /// Any number of requests on one connection; no HTTP/1.1 is spoken before (prior knowledge).
    Http2,
}

// === impl HttpVersion ===

impl HttpVersion {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Http1, Self::Http2];
}

// === impl FaultServer ===

impl FaultServer {
    /// A client of this server, the way the host makes its own: without retries and without a read timeout.
    ///
    /// `kube` by itself speaks HTTP/1.1 only; the client for HTTP/2 has the same HTTP library under it.
    ///
    /// # Errors
    /// `kube` does not like the address.
    pub fn client(&self, version: HttpVersion) -> kube::Result<kube::Client> {
        match version {
            HttpVersion::Http1 => kube::Client::try_from(self.client_config()),
            HttpVersion::Http2 => Ok(self.http2_client(&http2())),
        }
    }

    /// A client that speaks HTTP/2, and asks for a sign of life after `ping` of silence, as long as an answer is
    /// open. Where none comes for as long again it gives the connection up.
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
        // An address and a port always make a URL.
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
