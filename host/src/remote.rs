//! Asking a running host at its admin endpoint.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, bail};
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

/// A thousand dead letters at their longest are a tenth of it.
const MAX_BYTES: usize = 256 << 20;

/// Where a host answers.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    address: SocketAddr,
}

// === impl Remote ===

impl Remote {
    /// The address that was given, or that of the configuration.
    ///
    /// # Errors
    /// The configuration is bad, or says that there is no admin endpoint.
    pub fn find(args: &AdminArgs) -> anyhow::Result<Self> {
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

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// # Errors
    /// No host answers, or it answers with an error.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(http::Request::get(path).body(Vec::new())?).await
    }

    /// # Errors
    /// As [`Remote::get`].
    pub async fn post(&self, path: &str, body: &impl Serialize) -> anyhow::Result<Value> {
        let body = serde_json::to_vec(body)?;
        self.ask(http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json").body(body)?)
            .await
    }

    async fn ask(&self, request: http::Request<Vec<u8>>) -> anyhow::Result<Value> {
        let address = self.address;
        let asking = async {
            let connection = connect(&Access::Server(format!("http://{address}").parse()?)).await?;
            let answer = connection.client.send(request.map(Body::from)).await?;
            let status = answer.status();
            let text = axum::body::to_bytes(axum::body::Body::new(answer.into_body()), MAX_BYTES).await?;
            Ok::<_, anyhow::Error>((status, serde_json::from_slice::<Value>(&text)?))
        };
        let answered = async { timeout(PATIENCE, asking).await? };
        let (status, answer) = answered.await.with_context(|| {
            format!(
                "no host answers at {address}; is `informer run` running, and is this its [host] admin address?"
            )
        })?;
        if !status.is_success() {
            let why = answer.get("error").and_then(Value::as_str).unwrap_or("it does not say why");
            bail!("the host at {address} refuses: {why}");
        }
        Ok(answer)
    }
}

/// Prints the answer to a command.
#[expect(clippy::print_stdout, reason = "the answer to the command")]
pub fn print(text: &str) {
    print!("{text}");
}
