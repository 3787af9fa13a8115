//! The client of the admin endpoint.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, bail};
use axum::body::to_bytes;
use bytes::Bytes;
use http::{Request, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper_util::{client::legacy, rt::TokioExecutor};
use informer_types::one_line;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use super::types::Failed;
use crate::{
    cli::AdminArgs,
    config::{self, Components},
};

/// Time for an answer from memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// The path of a reload.
pub(crate) const RELOAD: &str = "/reload";

/// Time for a reload. A component of another language may take ten seconds to compile, and components are compiled one
/// after the other.
const RELOAD_PATIENCE: Duration = Duration::from_secs(120);

/// Most bytes of an answer. A thousand dead letters of the greatest length are a tenth of it.
const MAX_BYTES: usize = 256 << 20;

/// A running host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    address: SocketAddr,
}

/// An answer of the host.
pub(crate) struct Answer<T> {
    /// The answer as it came.
    pub(crate) json: Value,
    /// The same, with each text on one line: what a plugin reports as its failure, or names its keys, is printed on the
    /// terminal of an operator.
    pub(crate) value: T,
}

// === impl Client ===

impl Client {
    /// The host at the given address, or at the address in the configuration.
    ///
    /// # Errors
    /// The configuration cannot be read, or switches the admin endpoint off.
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

    /// Sends a `GET`.
    ///
    /// # Errors
    /// No host answers within ten seconds, the host refuses, or the answer has another form.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Answer<T>> {
        self.send(Request::get(self.url(path)), Bytes::new(), PATIENCE).await
    }

    /// Sends a `POST` with a JSON body. A reload has two minutes, because it compiles components.
    ///
    /// # Errors
    /// The errors of [`Client::get`].
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<Answer<T>> {
        let request = Request::post(self.url(path)).header(CONTENT_TYPE, "application/json");
        let within = if path == RELOAD { RELOAD_PATIENCE } else { PATIENCE };
        self.send(request, serde_json::to_vec(body)?.into(), within).await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: http::request::Builder,
        body: Bytes,
        within: Duration,
    ) -> anyhow::Result<Answer<T>> {
        let address = self.address;
        let request = request.body(Full::new(body))?;
        let sending = async {
            // The endpoint speaks plain HTTP on loopback: neither certificates nor proxies are looked for.
            let client = legacy::Client::builder(TokioExecutor::new()).build_http();
            let answer = client.request(request).await?;
            let status = answer.status();
            let text = to_bytes(axum::body::Body::new(answer.into_body()), MAX_BYTES).await?;
            anyhow::Ok((status, serde_json::from_slice::<Value>(&text)?))
        };
        let answered = async { timeout(within, sending).await? };
        let (status, json) = answered.await.with_context(|| {
            format!("no host answers at {address}; is `informer run` running, and is this its [host] admin address?")
        })?;
        if !status.is_success() {
            let Failed { error } = serde_json::from_value(json)
                .unwrap_or_else(|_| Failed { error: "the answer gives no reason".to_owned() });
            bail!("the host at {address} refuses: {}", one_line(&error));
        }
        Answer::read(json).with_context(|| {
            format!("the answer of the host at {address} has another form: use the `informer` of its version")
        })
    }
}

// === impl Answer ===

impl<T: DeserializeOwned> Answer<T> {
    pub(crate) fn read(json: Value) -> serde_json::Result<Self> {
        Ok(Self { value: serde_json::from_value(on_one_line(&json))?, json })
    }
}

fn on_one_line(json: &Value) -> Value {
    match json {
        Value::String(text) => one_line(text).to_string().into(),
        Value::Array(entries) => entries.iter().map(on_one_line).collect(),
        Value::Object(entries) => {
            entries.iter().map(|(key, entry)| (key.clone(), on_one_line(entry))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => json.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admin::types::Status;

    #[test]
    fn no_text_of_an_answer_spans_two_lines_or_moves_the_cursor() {
        let answer = json!({"plugins": [{"failure": "a\nb\u{1b}[2J", "calls": 3, "ok": true, "rate": null}]});

        let shown = json!({"plugins": [{"failure": r"a\nb\u{1b}[2J", "calls": 3, "ok": true, "rate": null}]});
        assert_eq!(on_one_line(&answer), shown);
    }

    #[test]
    fn an_answer_of_another_version_is_read_as_far_as_it_has_the_same_form() {
        let answer = Answer::<Status>::read(json!({"version": "9.9.9", "novelty": 1})).unwrap();
        assert_eq!((answer.value.version.as_str(), answer.value.is_well()), ("9.9.9", true));

        assert!(Answer::<Status>::read(json!({"plugins": "none"})).is_err());
    }
}
