//! Whether a connection waits for its client, or is occupied with an answer.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, extract::Request, response::Response};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};
use tower::ServiceExt;

/// What a connection is occupied with.
pub(super) struct Activity(Mutex<State>);

struct State {
    /// The number of requests that have arrived as a whole and are not answered yet.
    answering: usize,
    /// The number of these whose answer waits for the client: the connection has not polled for the next part of it.
    stalled: usize,
    /// The time when the connection was opened, the last answer ended, or the last part of an answer was passed on.
    waiting_since: Instant,
}

/// The service of one connection.
#[derive(Clone)]
pub(super) struct Exchanges {
    router: Router,
    activity: Arc<Activity>,
}

/// One request and its answer.
struct Exchange {
    activity: Arc<Activity>,
    progress: Mutex<Progress>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Arriving,
    /// The next part of the answer is being made.
    Answering,
    /// The connection polls for the next part of the answer once the client has taken the part before.
    Stalled,
    Over,
}

/// The body of a request. When it ends or is dropped, the request has arrived.
struct Arriving {
    body: Incoming,
    exchange: Arc<Exchange>,
}

/// The body of an answer; it is empty until the router has answered. When it is dropped, the exchange is over.
struct Answer {
    body: Body,
    exchange: Arc<Exchange>,
}

// === impl Activity ===

impl Activity {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State { answering: 0, stalled: 0, waiting_since: Instant::now() }))
    }

    /// The time since which the connection waits for its client. Returns `None` if the connection is occupied.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        let state = self.0.lock();
        (state.answering == state.stalled).then_some(state.waiting_since)
    }

    /// Returns true if a request is not answered yet, even if the client does not take the answer.
    pub(super) fn is_answering(&self) -> bool {
        self.0.lock().answering > 0
    }

    /// Returns once the connection has waited for its client for this long.
    pub(super) async fn waits(&self, patience: Duration) {
        loop {
            let since = self.waiting_since();
            if since.is_some_and(|since| since.elapsed() >= patience) {
                return;
            }
            sleep_until(since.unwrap_or_else(Instant::now) + patience).await;
        }
    }

    fn begin(&self) {
        self.0.lock().answering += 1;
    }

    fn stall(&self) {
        let mut state = self.0.lock();
        state.stalled += 1;
        state.waiting_since = Instant::now();
    }

    fn resume(&self) {
        self.0.lock().stalled -= 1;
    }

    fn end(&self) {
        let mut state = self.0.lock();
        state.answering -= 1;
        state.waiting_since = Instant::now();
    }
}

// === impl Exchange ===

impl Exchange {
    /// The request has arrived as a whole, or the router does not want the rest of it.
    fn arrived(&self) {
        let mut progress = self.progress.lock();
        if *progress == Progress::Arriving {
            *progress = Progress::Answering;
            self.activity.begin();
        }
    }

    /// The header or a part of the answer was passed to the connection.
    fn passed_on(&self) {
        let mut progress = self.progress.lock();
        if *progress == Progress::Answering {
            *progress = Progress::Stalled;
            self.activity.stall();
        }
    }

    /// The connection polls for the next part of the answer.
    fn polled(&self) {
        let mut progress = self.progress.lock();
        if *progress == Progress::Stalled {
            *progress = Progress::Answering;
            self.activity.resume();
        }
    }

    /// The whole answer was passed to the connection, or the connection does not want the rest of it.
    fn over(&self) {
        self.polled();
        let before = std::mem::replace(&mut *self.progress.lock(), Progress::Over);
        if before == Progress::Answering {
            self.activity.end();
        }
    }
}

// === impl Exchanges ===

impl Exchanges {
    pub(super) fn new(router: Router, activity: Arc<Activity>) -> Self {
        Self { router, activity }
    }
}

impl hyper::service::Service<http::Request<Incoming>> for Exchanges {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        let progress = Mutex::new(Progress::Arriving);
        let exchange = Arc::new(Exchange { activity: Arc::clone(&self.activity), progress });
        let mut answer = Answer { body: Body::empty(), exchange: Arc::clone(&exchange) };
        let request: Request = request.map(|body| Body::new(Arriving::new(body, exchange)));
        let answering = self.router.clone().oneshot(request);
        Box::pin(async move {
            let (head, body) = answering.await?.into_parts();
            answer.body = body;
            answer.exchange.passed_on();
            Ok(Response::from_parts(head, Body::new(answer)))
        })
    }
}

// === impl Arriving ===

impl Arriving {
    fn new(body: Incoming, exchange: Arc<Exchange>) -> Self {
        if http_body::Body::is_end_stream(&body) {
            exchange.arrived();
        }
        Self { body, exchange }
    }
}

impl http_body::Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) || self.body.is_end_stream() {
            self.exchange.arrived();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.exchange.arrived();
    }
}

// === impl Answer ===

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.exchange.polled();
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_ready() {
            self.exchange.passed_on();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.exchange.over();
    }
}
