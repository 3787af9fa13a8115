//! `wasi:http` (0.2), outgoing: requests to where `http` under `[plugin.grant]` leads, and nowhere else.
//!
//! What the host promises, whatever the guest sends and whatever a name resolves to:
//!
//! 1. Scheme, host, port, path and method are those of a grant ([`HttpGrant`]). The path is judged as RFC 3986
//!    normalises it, and that path is what is sent; one that servers read differently is refused.
//! 2. A name is resolved once, every address it has is judged, and the connection goes to one of exactly these. Link-local
//!    and metadata addresses, multicast, the API server and what `http-deny` names are never reached; this machine's
//!    loopback only where the grant has the address itself. Private ranges are open to granted names: the services of
//!    a cluster live there. An IPv4 address inside an IPv6 one is judged as what it is.
//! 3. Redirects are answers: the guest may follow one by a request of its own, which is judged again. Proxies of the
//!    environment are not used. `Host` is what was granted; userinfo is refused.
//! 4. A request ends at the deadline of its call, and so does its answer's body. Bodies have a limit in each
//!    direction, and so have the requests of a plugin at a time. So has what a request holds before it is sent: 16 KiB
//!    of headers, 16 KiB of path and query, 512 bytes of authority, 32 of a method.
//! 5. What is refused or fails is a line in the plugin's log, without path, query and headers, and is counted.
//!
//! HTTP/1.1 only, each request on a connection of its own.

mod address;
mod body;
mod client;
mod denied;
mod exchange;
mod grant;
mod path;
mod problem;
pub(crate) mod request;
mod resolver;
mod target;
mod traffic;

use std::sync::Arc;

use http::Request;
use tokio::time::Instant;
use wasmtime_wasi_http::{Error, RequestOptions, Result, WasiBody, WasiHttpCtx, WasiHttpHooks};

use crate::{PluginConfig, output::Output};

pub use client::{HttpClient, HttpConfig, HttpConfigError, Protected};
pub use grant::{HttpGrant, InvalidHttpGrant};
pub use resolver::{Resolver, SystemResolver, Ticket};
pub(crate) use traffic::Traffic;
pub use traffic::{HttpOutcome, HttpStats};

use exchange::{Answer, Exchange};

/// Headers of one request, each with some room for what the host keeps besides.
const FIELDS_BYTES: usize = 16 << 10;

/// Of a body, so much is taken at a time; the host keeps it until the request is sent.
const CHUNK_BYTES: usize = 64 << 10;

/// What one instance makes requests with.
pub(crate) struct Egress {
    pub(crate) context: WasiHttpCtx,
    pub(crate) hooks: Hooks,
}

/// Judges and makes the requests of one instance.
pub(crate) struct Hooks {
    client: HttpClient,
    config: Arc<PluginConfig>,
    output: Output,
    traffic: Arc<Traffic>,
    /// Of the call in hand.
    pub(crate) deadline: std::time::Instant,
}

// === impl Egress ===

impl Egress {
    pub(crate) fn new(
        client: HttpClient,
        config: Arc<PluginConfig>,
        output: Output,
        traffic: Arc<Traffic>,
    ) -> Self {
        let deadline = std::time::Instant::now();
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(FIELDS_BYTES);
        Self { context, hooks: Hooks { client, config, output, traffic, deadline } }
    }
}

// === impl Hooks ===

impl WasiHttpHooks for Hooks {
    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK_BYTES
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Answer>> + Send> {
        let exchange = Exchange {
            client: self.client.clone(),
            config: Arc::clone(&self.config),
            output: self.output.clone(),
            traffic: Arc::clone(&self.traffic),
            deadline: Instant::from_std(self.deadline),
        };
        Box::new(exchange.run(request, options))
    }
}
