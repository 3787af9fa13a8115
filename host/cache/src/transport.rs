//! Sends requests over a `kube::Client` and reports their failures.
//!
//! The client provides the transport: kubeconfig, TLS, credentials, proxies. It should not retry by itself
//! (`kube::Config::default_retry = false`): the reflector retries, and reports it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, header::RETRY_AFTER};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::timeout;

use crate::{
    FactoryConfig,
    api_status::ApiStatus,
    error::{Problem, RequestError},
    error_class::ErrorClass,
    request,
    request_budget::RequestBudget,
    watch_list_support::WatchListSupport,
};

/// The largest error answer that is read, in bytes. A `Status` is never larger.
const MAX_STATUS_BYTES: usize = 256 << 10;

/// Sends the requests of every informer of a factory.
#[derive(Clone)]
pub(crate) struct Transport {
    client: kube::Client,
    pub(crate) server: Arc<str>,
    pub(crate) request_timeout: Duration,
    pub(crate) max_object_bytes: usize,
    pub(crate) budget: Arc<RequestBudget>,
    pub(crate) watch_list_support: Arc<WatchListSupport>,
}

// === impl Transport ===

impl Transport {
    pub(crate) fn new(client: kube::Client, config: &FactoryConfig) -> Self {
        Self {
            client,
            server: Arc::from(config.server.as_str()),
            request_timeout: config.request_timeout,
            max_object_bytes: config.max_object_bytes,
            budget: Arc::new(RequestBudget::new(config.qps, config.burst)),
            watch_list_support: Arc::default(),
        }
    }

    /// Returns the whole answer to a small GET.
    pub(crate) async fn get(&self, path: &str) -> Result<Vec<u8>, RequestError> {
        let call = format!("GET {path}");
        self.budget.take().await;
        let mut body = self.open(&call, request::get(path), self.request_timeout).await?;
        let mut answer = Vec::new();
        while let Some(chunk) = self.chunk(&call, &mut body, answer.len() as u64).await? {
            answer.extend_from_slice(&chunk);
            if answer.len() > self.max_object_bytes {
                return Err(self.error(&call, Problem::TooLong(self.max_object_bytes)));
            }
        }
        Ok(answer)
    }

    /// Sends a request and returns the body of a successful answer. The answer must begin within `patience`.
    pub(crate) async fn open(
        &self,
        call: &str,
        request: Result<Request<Body>, http::Error>,
        patience: Duration,
    ) -> Result<Body, RequestError> {
        let request = request.map_err(|error| self.error(call, Problem::Transport(Box::new(error))))?;
        let response = timeout(patience, self.client.send(request))
            .await
            .map_err(|_| self.error(call, Problem::Silent(patience)))?
            .map_err(|error| self.error(call, Problem::Transport(Box::new(error))))?;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        Err(self.error(call, self.refusal(response).await))
    }

    /// Reads the server's explanation of an error.
    async fn refusal(&self, response: Response<Body>) -> Problem {
        let code = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        let mut body = response.into_body();
        let mut text = Vec::new();
        while text.len() < MAX_STATUS_BYTES
            && let Ok(Some(Ok(frame))) = timeout(self.request_timeout, body.frame()).await
        {
            text.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
        let mut status = ApiStatus::parse(&text)
            .unwrap_or_else(|| ApiStatus { message: describe(&text), ..ApiStatus::default() });
        if status.code == 0 {
            status.code = code.as_u16();
        }
        Problem::Status { code, status: Box::new(status), retry_after }
    }

    /// Returns the next bytes of an answer, or `None` at its end. An answer that breaks off is an error.
    pub(crate) async fn chunk(
        &self,
        call: &str,
        body: &mut Body,
        read: u64,
    ) -> Result<Option<Bytes>, RequestError> {
        loop {
            let frame = timeout(self.request_timeout, body.frame())
                .await
                .map_err(|_| self.error(call, Problem::Silent(self.request_timeout)))?;
            match frame {
                None => return Ok(None),
                Some(Err(_)) => return Err(self.error(call, Problem::Truncated(read))),
                // Trailers are ignored.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => return Ok(Some(data)),
                    Err(_) => continue,
                },
            }
        }
    }

    /// Makes the error of a failed request. Every failure passes here: if the server asks for a pause, all informers
    /// pause.
    pub(crate) fn error(&self, call: &str, problem: Problem) -> RequestError {
        let error = RequestError::new(&self.server, call, problem);
        if error.class() == ErrorClass::Throttled
            && let Some(wanted) = error.retry_after()
        {
            self.budget.pause(wanted);
        }
        error
    }
}

/// A short form of an error answer that is not a `Status`.
fn describe(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    if text.starts_with('<') {
        return "an HTML page; is it an API server?".to_owned();
    }
    text.chars().take(200).collect()
}
