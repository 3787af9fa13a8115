//! What one instance makes HTTP requests with.

use std::sync::Arc;

use http::Request;
use tokio::time::Instant;
use wasmtime_wasi_http::{Error, RequestOptions, Result, WasiBody, WasiHttpCtx, WasiHttpHooks};

use super::{
    client::HttpClient,
    exchange::{Answer, Exchange},
    traffic::Traffic,
};
use crate::{PluginConfig, output::Output};

/// The most bytes of the headers of one request, with some room for what the host adds.
const FIELDS_BYTES: usize = 16 << 10;

/// The largest piece of a body that a guest hands over at once. The host keeps it until it is sent.
const CHUNK_BYTES: usize = 64 << 10;

/// The state of `wasi:http` of one instance.
pub(crate) struct Egress {
    pub(crate) context: WasiHttpCtx,
    pub(crate) hooks: Hooks,
}

/// Checks and makes the requests of one instance.
pub(crate) struct Hooks {
    client: HttpClient,
    config: Arc<PluginConfig>,
    output: Output,
    traffic: Arc<Traffic>,
    /// The deadline of the call in flight.
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
