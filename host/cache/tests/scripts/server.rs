//! A small API server in memory: one collection with its history, paged lists, watches from any version, compaction, a
//! lagging watch cache, and all faults of a script.

mod failure;
mod list;
mod request;
mod state;
mod stream;
mod watch;

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::StreamBody;
use kube::client::Body;
use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::mpsc, time::Instant};
use tower_service::Service;

pub(crate) use state::State;
pub(crate) use watch::Cut;

use crate::{
    body::{Chunks, Piece, body},
    ledger::{Ledger, Mark, Scope},
    script::{Ending, Failure, Fault, Setup},
};
use request::Request;

/// More requests than any script needs within a second.
const MAX_REQUESTS: usize = 100;

/// The number of requests that may fail before the reflectors of two namespaces notice that the resource was removed.
const MAX_MISSES: usize = 20;

/// The server. All clones are the same server.
#[derive(Clone)]
pub(crate) struct Server(Arc<Mutex<State>>);

/// The reaction to a request.
pub(crate) enum Reply {
    Refused,
    Broken,
    Silent,
    Http {
        status: u16,
        /// The value of `Retry-After` in seconds.
        retry_after: Option<u8>,
        pieces: mpsc::UnboundedReceiver<Piece>,
        deadline: Option<Instant>,
    },
}

// === impl Server ===

impl Server {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self(Arc::new(Mutex::new(State::new(setup))))
    }

    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    pub(crate) fn took(&self, scope: &Scope, mark: Mark) {
        let state = &mut *self.lock();
        state.ledgers.entry(scope.clone()).or_default().took(scope, mark, &state.collection);
    }

    async fn answer(self, request: Request) -> Result<http::Response<StreamBody<Chunks>>, io::Error> {
        let latency = self.lock().next_latency();
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let reply = self.lock().reply(&request);
        match reply {
            Reply::Refused => Err(io::ErrorKind::ConnectionRefused.into()),
            Reply::Broken => Err(io::ErrorKind::ConnectionReset.into()),
            Reply::Silent => std::future::pending().await,
            Reply::Http { status, retry_after, pieces, deadline } => {
                let mut response = http::Response::builder().status(status);
                if let Some(seconds) = retry_after {
                    response = response.header("retry-after", seconds.to_string());
                }
                Ok(response.body(body(pieces, self, request.scope, deadline)).unwrap())
            }
        }
    }
}

impl Service<http::Request<Body>> for Server {
    type Response = http::Response<StreamBody<Chunks>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.clone().answer(Request::parse(request.uri())))
    }
}

// === impl State ===

impl State {
    fn reply(&mut self, request: &Request) -> Reply {
        self.requests += 1;
        if self.second.elapsed() >= Duration::from_secs(1) {
            (self.second, self.second_starts_at) = (Instant::now(), self.requests);
        }
        if self.requests - self.second_starts_at > MAX_REQUESTS {
            self.violations.push("a storm of requests".to_owned());
            return Reply::Silent;
        }
        if request.is_discovery {
            return self.discovery();
        }
        if !self.served {
            self.ledger(&request.scope).excuse();
            self.misses += 1;
            if self.misses > MAX_MISSES {
                self.violations.push("a resource that is not served is listed repeatedly (F-9)".to_owned());
            }
            return self.text(404, "404 page not found");
        }
        match (request.watch, request.initial_events) {
            (true, true) => self.stream(request),
            (true, false) => self.watch(request),
            _ => self.list(request),
        }
    }

    fn discovery(&mut self) -> Reply {
        if self.served {
            return self.text(200, request::RESOURCES);
        }
        self.ledgers.values_mut().for_each(Ledger::deny);
        self.text(200, request::NO_RESOURCES)
    }

    /// Applies the scripted fault of an answer: returns the place at which to cut the answer, or another answer.
    fn fail(
        &mut self,
        fault: Option<Fault>,
        refuse: impl FnOnce(&mut Self, Failure) -> Reply,
    ) -> Result<Option<(usize, Ending)>, Reply> {
        match fault {
            None => Ok(None),
            Some(Fault::Truncated(length, ending)) => Ok(Some((length.into(), ending))),
            Some(Fault::Refused) => Err(Reply::Refused),
            Some(Fault::Broken) => Err(Reply::Broken),
            Some(Fault::Silent) => Err(Reply::Silent),
            Some(Fault::Html) => Err(self.text(200, "<html><body>log in</body></html>\n")),
            Some(Fault::Status(failure)) => Err(refuse(self, failure)),
        }
    }

    /// A whole answer.
    fn text(&mut self, status: u16, text: &str) -> Reply {
        let (sender, pieces) = mpsc::unbounded_channel();
        for chunk in self.chunks(text) {
            let _ = sender.send(chunk);
        }
        let _ = sender.send(Piece::End);
        Reply::Http { status, retry_after: None, pieces, deadline: None }
    }

    fn next_latency(&mut self) -> Duration {
        Duration::from_millis(self.latencies.next().map_or(0, u64::from))
    }

    pub(crate) fn ledger(&mut self, scope: &Scope) -> &mut Ledger {
        self.ledgers.entry(scope.clone()).or_default()
    }

    pub(crate) fn ledgers(&self) -> &BTreeMap<Scope, Ledger> {
        &self.ledgers
    }
}
