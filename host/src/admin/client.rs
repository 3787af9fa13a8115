//! Asks a running host at its admin endpoint.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, bail};
use http::{Request, header::CONTENT_TYPE};
use informer_types::one_line;
use kube::client::Body;
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    cli::AdminArgs,
    config::{self, Access, Components},
    connect::connect,
};

/// The host answers from memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// A component of another language may take ten seconds to compile, and one is compiled at a time.
const RELOAD_PATIENCE: Duration = Duration::from_secs(120);

/// A thousand dead letters at their longest are a tenth of it.
const MAX_BYTES: usize = 256 << 20;

/// A running host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    address: SocketAddr,
}

// === impl Client ===

impl Client {
    /// The host at the address that was given, or at that of the configuration.
    ///
    /// # Errors
    /// The configuration cannot be read, or says that it has no admin endpoint.
    pub(crate) fn new(args: &AdminArgs) -> anyhow::Result<Self> {
        let address = match args.admin {
            Some(address) => address,
            None => {
                let admin = config::load(&args.config, Components::Unseen)?.host.admin;
                admin.context(
                    "the configuration switches the admin endpoint off; set [host] admin = \"127.0.0.1:8080\"",
                )?
            }
        };
        Ok(Self { address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// `GET`
    ///
    /// # Errors
    /// No host answers within ten seconds, or it refuses; in its own words.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Request::get(path).body(Vec::new())?, PATIENCE).await
    }

    /// `POST` of a JSON body.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub(crate) async fn post(&self, path: &str, body: &impl Serialize) -> anyhow::Result<Value> {
        self.ask(json(path, body)?, PATIENCE).await
    }

    /// As [`Client::post`], for what compiles components first: two minutes.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub(crate) async fn post_and_wait(&self, path: &str, body: &impl Serialize) -> anyhow::Result<Value> {
        self.ask(json(path, body)?, RELOAD_PATIENCE).await
    }

    async fn ask(&self, request: Request<Vec<u8>>, within: Duration) -> anyhow::Result<Value> {
        let address = self.address;
        let asking = async {
            let connection = connect(&Access::Server(format!("http://{address}").parse()?)).await?;
            let answer = connection.client.send(request.map(Body::from)).await?;
            let status = answer.status();
            let text = axum::body::to_bytes(axum::body::Body::new(answer.into_body()), MAX_BYTES).await?;
            anyhow::Ok((status, serde_json::from_slice::<Value>(&text)?))
        };
        let answered = async { timeout(within, asking).await? };
        let (status, answer) = answered.await.with_context(|| {
            format!("no host answers at {address}; is `informer run` running, and is this its [host] admin address?")
        })?;
        if !status.is_success() {
            let why = answer.get("error").and_then(Value::as_str).unwrap_or("it does not say why");
            bail!("the host at {address} refuses: {}", one_line(why));
        }
        Ok(answer)
    }
}

fn json(path: &str, body: &impl Serialize) -> anyhow::Result<Request<Vec<u8>>> {
    let body = serde_json::to_vec(body)?;
    Ok(Request::post(path).header(CONTENT_TYPE, "application/json").body(body)?)
}
