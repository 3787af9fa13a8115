//! LIST and WATCH of one collection, as bytes over a `kube::Client`.
//!
//! The client brings the transport: kubeconfig, TLS, credentials, proxies. It should not retry on its own
//! (`kube::Config::default_retry = false`): the reflector does, and shows it.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header::RETRY_AFTER};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{
    api_status::ApiStatus,
    decode::{Decoder, ListDecoder, ListError, ListPage},
    error::{ErrorClass, Problem, RequestError},
    frame::{FrameBuffer, FrameTooLong},
    request::{Collection, ListOptions, WatchOptions},
    request_budget::RequestBudget,
    watch_list_support::WatchListSupport,
};

/// An error answer of more than this is no `Status`.
const MAX_STATUS_BYTES: usize = 256 << 10;

/// Sends the requests of every informer of a factory.
#[derive(Clone)]
pub(crate) struct Transport {
    client: kube::Client,
    pub(crate) server: Arc<str>,
    request_timeout: Duration,
    max_object_bytes: usize,
    budget: Arc<RequestBudget>,
    pub(crate) watch_list_support: Arc<WatchListSupport>,
}

/// Lists and watches one collection.
pub(crate) struct ListWatch {
    pub(crate) transport: Transport,
    pub(crate) collection: Collection,
}

/// The frames of one watch.
pub(crate) struct WatchStream {
    body: Body,
    frames: FrameBuffer,
    ended: bool,
}

/// What comes next on a watch.
#[derive(Debug)]
pub(crate) enum Next {
    Frame(Bytes),
    /// Timeout of the server, end of file, reset, GOAWAY: all the same to a watch.
    Ended,
    /// No byte for too long.
    Silent,
}

// === impl Transport ===

impl Transport {
    pub(crate) fn new(client: kube::Client, config: &crate::FactoryConfig) -> Self {
        Self {
            client,
            server: Arc::from(config.server.as_str()),
            request_timeout: config.request_timeout,
            max_object_bytes: config.max_object_bytes,
            budget: Arc::new(RequestBudget::new(config.qps, config.burst)),
            watch_list_support: Arc::default(),
        }
    }

    /// The whole answer to a small GET.
    pub(crate) async fn get(&self, path: &str) -> Result<Vec<u8>, RequestError> {
        let call = format!("GET {path}");
        self.budget.take().await;
        let mut body = self.open(&call, crate::request::get(path), self.request_timeout).await?;
        let mut answer = Vec::new();
        while let Some(chunk) = self.chunk(&call, &mut body, answer.len() as u64).await? {
            answer.extend_from_slice(&chunk);
            if answer.len() > self.max_object_bytes {
                return Err(self.error(&call, Problem::TooLong(self.max_object_bytes)));
            }
        }
        Ok(answer)
    }

    /// The body of a successful answer, which begins within `patience`.
    async fn open(
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

    /// Reads what the server has to say about an error.
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

    /// The next bytes of an answer that must not break off; none at its end.
    async fn chunk(&self, call: &str, body: &mut Body, read: u64) -> Result<Option<Bytes>, RequestError> {
        loop {
            let frame = timeout(self.request_timeout, body.frame())
                .await
                .map_err(|_| self.error(call, Problem::Silent(self.request_timeout)))?;
            match frame {
                None => return Ok(None),
                Some(Err(_)) => return Err(self.error(call, Problem::Truncated(read))),
                // Trailers say nothing here.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => return Ok(Some(data)),
                    Err(_) => continue,
                },
            }
        }
    }

    /// Every failure comes by here: what the server asks of one informer is heard by all.
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

// === impl ListWatch ===

impl ListWatch {
    pub(crate) fn new(transport: Transport, collection: Collection) -> Self {
        Self { transport, collection }
    }

    /// One page, decoded while it arrives.
    pub(crate) async fn page(
        &self,
        options: ListOptions<'_>,
        decoder: &Decoder,
    ) -> Result<ListPage, RequestError> {
        let call = self.list_call();
        // A later page is asked for once the one before has come: the server sets the pace.
        if options.continue_token.is_empty() {
            self.transport.budget.take().await;
        }
        let patience = self.transport.request_timeout;
        let mut body = self.transport.open(&call, self.collection.list(options), patience).await?;
        let mut list = ListDecoder::new(decoder);
        let mut read = 0;
        let problem = |error, read| self.transport.error(&call, list_problem(error, read));
        while let Some(chunk) = self.transport.chunk(&call, &mut body, read).await? {
            read += chunk.len() as u64;
            list.push(&chunk).map_err(|error| problem(error, read))?;
            decoder.train().await;
        }
        list.finish().map_err(|error| problem(error, read))
    }

    /// Opens a watch; the server must answer within `patience`, or within the time any request has.
    pub(crate) async fn watch(
        &self,
        options: WatchOptions<'_>,
        patience: Duration,
    ) -> Result<WatchStream, RequestError> {
        self.transport.budget.take().await;
        let request = self.collection.watch(options);
        let patience = patience.min(self.transport.request_timeout);
        let body = self.transport.open(&self.watch_call(), request, patience).await?;
        let frames = FrameBuffer::new(self.transport.max_object_bytes);
        Ok(WatchStream { body, frames, ended: false })
    }

    /// An error of the watch that is open.
    pub(crate) fn watch_error(&self, problem: Problem) -> RequestError {
        self.transport.error(&self.watch_call(), problem)
    }

    /// An error of an answer that is a list by itself.
    pub(crate) fn list_error(&self, problem: Problem) -> RequestError {
        self.transport.error(&self.list_call(), problem)
    }

    fn list_call(&self) -> String {
        format!("LIST {}", self.collection.name())
    }

    fn watch_call(&self) -> String {
        format!("WATCH {}", self.collection.name())
    }
}

// === impl WatchStream ===

impl WatchStream {
    /// The next frame; waits for bytes no longer than `idle` and not beyond `deadline`.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub(crate) async fn next(&mut self, idle: Duration, deadline: Instant) -> Result<Next, FrameTooLong> {
        loop {
            if let Some(frame) = self.frames.next_frame()? {
                return Ok(Next::Frame(frame));
            }
            if self.ended {
                // A last frame may come without its newline; the caller finds out whether it is whole.
                return Ok(self.frames.rest().map_or(Next::Ended, Next::Frame));
            }
            let until = Instant::now().checked_add(idle).map_or(deadline, |at| at.min(deadline));
            match timeout_at(until, self.body.frame()).await {
                Err(_) => return Ok(Next::Silent),
                Ok(frame) => self.received(frame),
            }
        }
    }

    /// The next frame that is here already; none where one has to wait for it, or for the end. It returns at once, and
    /// the task is woken when there is more.
    pub(crate) async fn ready(&mut self) -> Result<Option<Bytes>, FrameTooLong> {
        loop {
            if let Some(frame) = self.frames.next_frame()? {
                return Ok(Some(frame));
            }
            if self.ended {
                return Ok(None);
            }
            let polled = poll_fn(|context| Poll::Ready(pin!(self.body.frame()).poll(context))).await;
            match polled {
                Poll::Pending => return Ok(None),
                Poll::Ready(frame) => self.received(frame),
            }
        }
    }

    fn received(&mut self, frame: Option<Result<http_body::Frame<Bytes>, kube::Error>>) {
        match frame {
            None | Some(Err(_)) => self.ended = true,
            // Trailers say nothing here.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.frames.push(data);
                }
            }
        }
    }

    /// True once no more bytes can come.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }
}

fn list_problem(error: ListError, read: u64) -> Problem {
    match error {
        ListError::Html => Problem::Html,
        ListError::Truncated => Problem::Truncated(read),
        ListError::NotJson(error) => Problem::NotJson(error),
        ListError::Table => Problem::Table("a Table"),
        ListError::NotAList(what) => Problem::Unexpected(what),
        ListError::TooLong(bytes) => Problem::TooLong(bytes),
        ListError::Status(status) => Problem::Status {
            code: StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            status,
            retry_after: None,
        },
    }
}

/// An error answer that is no `Status`, in a few words.
fn describe(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    if text.starts_with('<') {
        return "an HTML page; is it an API server?".to_owned();
    }
    text.chars().take(200).collect()
}
