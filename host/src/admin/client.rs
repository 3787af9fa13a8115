//! Asks a running host at its admin endpoint.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    cli::AdminArgs,
    config::{self, Access, Components},
    connect::connect,
};

/// A running host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    address: SocketAddr,
}

// === impl Client ===

impl Client {
    /// The host meant.
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
    /// No host answers within this time, or it does not know what is asked.
    pub(crate) async fn get(&self, path: &str, within: Duration) -> anyhow::Result<Value> {
        self.ask(http::Method::GET, path, within).await
    }

    /// `POST`, without a body.
    ///
    /// # Errors
    /// No host answers within this time, or it refuses.
    pub(crate) async fn post(&self, path: &str, within: Duration) -> anyhow::Result<Value> {
        self.ask(http::Method::POST, path, within).await
    }

    async fn ask(&self, method: http::Method, path: &str, within: Duration) -> anyhow::Result<Value> {
        let address = self.address;
        let asking = async {
            let connection = connect(&Access::Server(format!("http://{address}").parse()?)).await?;
            let request = http::Request::builder().method(method).uri(path).body(Vec::new())?;
            let answer = timeout(within, connection.client.request_text(request)).await??;
            anyhow::Ok(serde_json::from_str(&answer)?)
        };
        asking.await.with_context(|| {
            format!("no host answers at {address}; is `informer run` running, and is this its [host] admin address?")
        })
    }
}
