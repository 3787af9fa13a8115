//! Sends requests over a `kube::Client` and reports their failures.
//!
//! The client provides the transport: kubeconfig, TLS, credentials, proxies. It should not retry by itself
//! (`kube::Config::default_retry = false`): the reflector retries, and reports it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, header::RETRY_AFTER};
use http_body_util::BodyExt;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use crate::{
    FactoryConfig,
    api_status::ApiStatus,
    ceiling::Ceiling,
    error::{Problem, RequestError},
    request,
    request_budget::RequestBudget,
};

/// The largest error answer that is read, in bytes. A `Status` is never larger.
const MAX_STATUS_BYTES: usize = 256 << 10;

/// After this time a streaming list is tried again: the server may have been upgraded.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// Sends the requests of every informer of a factory.
#[derive(Clone)]
pub(crate) struct Transport {
    client: kube::Client,
    pub(crate) server: Arc<str>,
    renewal: Arc<str>,
    pub(crate) request_timeout: Duration,
    pub(crate) max_object_bytes: usize,
    pub(crate) list_bytes: u64,
    pub(crate) ceiling: Ceiling,
    pub(crate) budget: Arc<RequestBudget>,
    pub(crate) watch_list_support: Arc<WatchListSupport>,
}

/// The API roots for which streaming lists do not work, shared by all reflectors of a factory (D-3). Support is
/// remembered by group and version, because the aggregation layer may route each of them to another server.
#[derive(Debug, Default)]
pub(crate) struct WatchListSupport {
    lacking: Mutex<HashMap<String, Lacking>>,
}

#[derive(Debug)]
struct Lacking {
    reason: String,
    since: Instant,
}

// === impl Transport ===

impl Transport {
    pub(crate) fn new(client: kube::Client, config: &FactoryConfig) -> Self {
        Self {
            client,
            server: Arc::from(config.server.as_str()),
            renewal: Arc::from(config.renewal.as_str()),
            request_timeout: config.request_timeout,
            max_object_bytes: config.max_object_bytes,
            list_bytes: config.list_bytes as u64,
            ceiling: Ceiling::new(config.cache_bytes),
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
            .map_err(|error| self.error(call, Problem::unanswered(error)))?;
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
        let error = RequestError::new(&self.server, &self.renewal, call, problem);
        if error.class().asks_for_a_pause()
            && let Some(wanted) = error.retry_after()
        {
            self.budget.pause(wanted);
        }
        error
    }
}

// === impl WatchListSupport ===

impl WatchListSupport {
    /// Records that streaming lists do not work below this root (`/apis/apps/v1`).
    pub(crate) fn lacks(&self, api_root: String, reason: String) {
        self.lacking.lock().insert(api_root, Lacking { reason, since: Instant::now() });
    }

    /// Returns the reason why a streaming list should not be tried, or `None` if it should.
    pub(crate) fn reason(&self, api_root: &str) -> Option<String> {
        let lacking = self.lacking.lock();
        let lacking = lacking.get(api_root).filter(|lacking| lacking.since.elapsed() < REMEMBERED)?;
        Some(lacking.reason.clone())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that lacks streaming lists is remembered by group and version (D-3).
    #[tokio::test(start_paused = true)]
    async fn missing_support_is_remembered_for_an_hour_and_only_for_that_group_and_version() {
        let support = WatchListSupport::default();
        support.lacks("/api/v1".to_owned(), "no end mark".to_owned());

        assert_eq!(support.reason("/api/v1").as_deref(), Some("no end mark"));
        assert_eq!(support.reason("/apis/apps/v1"), None);

        tokio::time::advance(REMEMBERED).await;
        assert_eq!(support.reason("/api/v1"), None);
    }
}
