//! An HTTP hop in front of an API server: it notes the requests of its clients, and fails some of them on demand.

use std::{io, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use futures::stream;
use http::{Method, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};
use tokio_util::task::AbortOnDropHandle;

/// A server without TLS on its own loopback port. It sends each request on with the credentials of its client. Dropping it ends all
/// connections.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: AbortOnDropHandle<()>,
}

/// A request that the gateway received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The method.
    pub method: Method,
    /// The path without the query.
    pub path: String,
    /// True if the request opens a watch.
    pub is_watch: bool,
}

/// How one request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The API server does not receive it. The client gets this status.
    Refused(StatusCode),
    /// The API server does not receive it. The connection ends without an answer.
    Lost,
    /// The API server handles it. The connection ends without an answer.
    Unanswered,
    /// The client waits until [`Gateway::release`], and then its connection ends. The API server has handled the request before
    /// [`Gateway::held`] returns if `handled` is true, and never receives it otherwise.
    Held {
        /// If true, the API server handles the request.
        handled: bool,
    },
    /// The API server does not receive it. The client gets a list of ever-new objects that never ends.
    Endless,
}

/// The body of an answer.
type AnswerBody = UnsyncBoxBody<Bytes, BodyError>;

type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Decides about each request.
type Decide = Box<dyn FnMut(&Passed) -> Option<Fault> + Send>;

struct Shared {
    client: Client,
    passed: Mutex<Vec<Passed>>,
    decide: Mutex<Option<Decide>>,
    held: Notify,
    released: Notify,
}

/// Why a connection ends without an answer.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("the request was to fail")]
    Wanted,
    #[error(transparent)]
    Client(#[from] hyper::Error),
    #[error(transparent)]
    Server(#[from] kube::Error),
    #[error("the answer of the server breaks off: {0}")]
    Answer(#[from] BodyError),
}

// === impl Passed ===

impl Passed {
    /// Returns true if the request may change objects.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// Returns true if the request is about Events.
    #[must_use]
    pub fn is_about_events(&self) -> bool {
        self.path.split('/').any(|part| part == "events")
    }
}

// === impl Gateway ===

impl Gateway {
    /// Listens on a free loopback port, in front of the server of this client.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(client: Client) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            client,
            passed: Mutex::default(),
            decide: Mutex::default(),
            held: Notify::new(),
            released: Notify::new(),
        });
        let serving = AbortOnDropHandle::new(tokio::spawn(serve(listener, Arc::clone(&shared))));
        Ok(Self { address, shared, _serving: serving })
    }

    /// The address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Fails each request for which `decide` returns a fault, until [`Self::heal`].
    pub fn fail(&self, decide: impl FnMut(&Passed) -> Option<Fault> + Send + 'static) {
        *self.shared.decide.lock() = Some(Box::new(decide));
    }

    /// Lets all requests pass.
    pub fn heal(&self) {
        *self.shared.decide.lock() = None;
    }

    /// Waits until a request is held.
    ///
    /// # Cancel safety
    /// A dropped call misses no request.
    pub async fn held(&self) {
        self.shared.held.notified().await;
    }

    /// Ends the connections of the requests that are held.
    pub fn release(&self) {
        self.shared.released.notify_waiters();
    }

    /// The requests since the last call, in the order of their arrival.
    #[must_use]
    pub fn take(&self) -> Vec<Passed> {
        std::mem::take(&mut *self.shared.passed.lock())
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(connection(stream, Arc::clone(&shared)));
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // Without this option, a small answer waits until the client has acknowledged the previous one.
    stream.set_nodelay(true).ok();
    let service = service_fn(move |request| answer(Arc::clone(&shared), request));
    // A client may go at any time, and a fault ends its connection.
    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

async fn answer(
    shared: Arc<Shared>,
    request: http::Request<Incoming>,
) -> Result<Response<AnswerBody>, Broken> {
    let query = request.uri().query().unwrap_or_default();
    let is_watch = query.split('&').any(|part| matches!(part, "watch=true" | "watch=1"));
    let passed = Passed { method: request.method().clone(), path: request.uri().path().to_owned(), is_watch };
    let fault = shared.decide.lock().as_mut().and_then(|decide| decide(&passed));
    shared.passed.lock().push(passed);
    match fault {
        None => shared.forward(request).await,
        Some(Fault::Refused(status)) => Ok(refusal(status)),
        Some(Fault::Lost) => Err(Broken::Wanted),
        Some(Fault::Unanswered) => {
            let answer = shared.forward(request).await?;
            answer.into_body().collect().await?;
            Err(Broken::Wanted)
        }
        Some(Fault::Held { handled }) => {
            let released = shared.released.notified();
            tokio::pin!(released);
            released.as_mut().enable();
            if handled {
                let answer = shared.forward(request).await?;
                answer.into_body().collect().await?;
            }
            shared.held.notify_one();
            released.await;
            Err(Broken::Wanted)
        }
        Some(Fault::Endless) => Ok(endless_list()),
    }
}

impl Shared {
    async fn forward(&self, request: http::Request<Incoming>) -> Result<Response<AnswerBody>, Broken> {
        let (mut head, body) = request.into_parts();
        // These headers belong to the connection of the client.
        for name in [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH] {
            head.headers.remove(name);
        }
        let body = body.collect().await?.to_bytes();
        let mut answer = self.client.send(http::Request::from_parts(head, Body::from(body))).await?;
        answer.headers_mut().remove(header::TRANSFER_ENCODING);
        answer.headers_mut().remove(header::CONNECTION);
        Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
    }
}

/// A list of objects of a kilobyte, without an end.
fn endless_list() -> Response<AnswerBody> {
    let head = r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":["#;
    let item = |number: u64| {
        let name = format!("endless-{number}");
        json!({"metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"},
               "data": {"text": "x".repeat(1000)}})
    };
    let items = (0..u64::MAX).map(move |number| {
        let separator = if number == 0 { head } else { "," };
        Ok(Frame::data(Bytes::from(format!("{separator}{}", item(number)))))
    });
    let mut answer = Response::new(StreamBody::new(stream::iter(items)).boxed_unsync());
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer
}

/// An answer in the form of the API server.
fn refusal(status: StatusCode) -> Response<AnswerBody> {
    let reason = match status {
        StatusCode::CONFLICT => "Conflict",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        _ => "InternalError",
    };
    let document = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status.as_u16(),
        "reason": reason, "message": "a fault of the test",
    });
    let mut answer =
        Response::new(Full::from(document.to_string()).map_err(|never| match never {}).boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer
}
