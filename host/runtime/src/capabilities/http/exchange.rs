//! The HTTP requests of one instance. Each request has a connection of its own.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream::unfold;
use http::{
    HeaderValue, Method, Request, Response, Uri,
    header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap},
};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use informer_types::{CallTrace, TraceContext};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::{TlsConnector, rustls, rustls::pki_types::ServerName};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks};

use super::{
    client::HttpClient,
    grant::admitting,
    problem::{Denied, Problem, too_large},
    resolver::Ticket,
    target::{Host, Target},
    traffic::{HttpOutcome, InFlight, Traffic},
};
use crate::{LogLevel, PluginConfig, output::Output, request_span::RequestSpan, revocation::Revocation};

/// The time limit for a connection, including TLS.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// The most addresses of a name that are tried.
const ADDRESSES_TRIED: usize = 8;

/// The most bytes of the status line and headers of an answer.
const HEAD_BYTES: usize = 64 << 10;

/// The most bytes of the headers of one request, with some room for what the host adds.
const FIELDS_BYTES: usize = 16 << 10;

/// The largest piece of a body that a guest hands over at once. The host keeps it until it is sent.
const CHUNK_BYTES: usize = 64 << 10;

/// The header of W3C Trace Context.
const TRACEPARENT: &str = "traceparent";

/// The answer, and a future that drives the connection until the body has arrived.
type Answer = (Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

type Connection<B> = http1::Connection<TokioIo<Box<dyn Stream>>, B>;

/// The state of `wasi:http` of one instance.
pub(crate) struct Egress {
    pub(crate) context: WasiHttpCtx,
    pub(crate) hooks: Exchange,
}

/// Checks and makes the requests of one instance.
#[derive(Clone)]
pub(crate) struct Exchange {
    client: HttpClient,
    config: Arc<PluginConfig>,
    output: Output,
    traffic: Arc<Traffic>,
    /// The time at which the grants of the instance end.
    revocation: Arc<Revocation>,
    /// The deadline of the call in flight.
    pub(crate) deadline: Instant,
    /// The trace of the call in flight, if it is for a sampled event.
    pub(crate) trace: Option<CallTrace>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Counts a request at its end, also if its future is dropped.
struct Counted {
    traffic: Arc<Traffic>,
    outcome: HttpOutcome,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.traffic.ended(self.outcome);
    }
}

// === impl Egress ===

impl Egress {
    pub(crate) fn new(
        client: HttpClient,
        config: Arc<PluginConfig>,
        output: Output,
        traffic: Arc<Traffic>,
        revocation: Arc<Revocation>,
    ) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(FIELDS_BYTES);
        let deadline = Instant::now();
        let hooks = Exchange { client, config, output, traffic, revocation, deadline, trace: None };
        Self { context, hooks }
    }
}

// === impl Exchange ===

impl WasiHttpHooks for Exchange {
    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK_BYTES
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Answer, Error>> + Send> {
        Box::new(self.clone().run(request, options))
    }
}

impl Exchange {
    /// Makes the request if it is granted, and returns the head of the answer. A redirect is an answer like any other.
    ///
    /// # Errors
    /// The error for the guest. The plugin's log has the details.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    async fn run(self, request: Request<WasiBody>, options: Option<RequestOptions>) -> Result<Answer, Error> {
        let begun = Instant::now();
        let mut counted = Counted { traffic: Arc::clone(&self.traffic), outcome: HttpOutcome::Abandoned };
        let target = Target::of(request.uri());
        let place = target.as_ref().map_or_else(|_| "an unusable URL".to_owned(), ToString::to_string);
        let what = format!("{} {place}", request.method());
        let span = target.as_ref().ok().and_then(|target| self.span(target, request.method()));
        let context = span.as_ref().map(RequestSpan::context);
        let attempt = async {
            let target = target.map_err(Denied::from)?;
            self.attempt(&target, traced(request, context), options.unwrap_or_default()).await
        };
        let ended = timeout_at(self.deadline, attempt).await;
        let ended = ended.unwrap_or_else(|_| Err(Problem::timed_out("the deadline of the call passed")));
        if let Some(span) = span {
            match &ended {
                Ok((response, _)) => span.end(Some(response.status().as_u16()), None),
                Err(problem) => span.end(None, Some(problem.outcome.as_str())),
            }
        }
        match &ended {
            Ok((response, _)) => {
                counted.outcome = HttpOutcome::Answered;
                let (status, millis) = (response.status().as_u16(), begun.elapsed().as_millis());
                self.output.about(LogLevel::Debug, &format!("http: {what}: {status} after {millis} ms"));
            }
            Err(problem) => {
                counted.outcome = problem.outcome;
                self.output.about(LogLevel::Warn, &format!("http: {what} {}: {problem}", problem.outcome));
            }
        }
        ended.map_err(|problem| problem.error)
    }

    /// The span of a request, if the event of the call is sampled.
    fn span(&self, target: &Target, method: &Method) -> Option<RequestSpan> {
        RequestSpan::begin(self.trace.as_ref(), || {
            let host = target.host.to_string();
            crate::request_span::Request::Http {
                method: method.clone(),
                https: target.https,
                host,
                port: target.port,
            }
        })
    }

    async fn attempt(
        &self,
        target: &Target,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Answer, Problem> {
        let grants = self.config.grants.http.as_deref().unwrap_or_default();
        let grant = admitting(grants, request.method(), target)?;
        let limits = &self.config.limits;
        if declared(request.headers()).is_some_and(|bytes| bytes > limits.http_body_bytes) {
            return Err(Problem::request_too_large(limits.http_body_bytes));
        }
        let Some(running) = self.traffic.begin(limits.http_requests) else {
            return Err(Problem::limited(limits.http_requests));
        };
        let running = Arc::new(running);
        let stream = match self.client.wire() {
            Some(wire) => Box::new(wire.open(&target.to_string())),
            None => {
                let addresses = self.client.addresses(target, grant, Ticket::of(&running)).await?;
                self.open(target, &addresses, options.connect_timeout, Ticket::of(&running)).await?
            }
        };
        // Last: the host may have lost its lease, or the plugin its grant, while the connection was opened.
        if let Some(why) = self.client.closed() {
            return Err(Problem::fenced(why));
        }
        if self.revocation.is_due() {
            return Err(Denied::Revoked.into());
        }
        self.send(target, stream, running, request, options).await
    }

    /// Connects to one of the checked addresses, trying one after the other, with TLS if the URL is `https`.
    async fn open(
        &self,
        target: &Target,
        addresses: &[SocketAddr],
        within: Option<Duration>,
        ticket: Ticket,
    ) -> Result<Box<dyn Stream>, Problem> {
        let deadline = Instant::now() + within.map_or(CONNECT_WITHIN, |within| within.min(CONNECT_WITHIN));
        let stream = connect(addresses, deadline).await.map_err(|error| Problem::unconnected(&error))?;
        if !target.https {
            return Ok(Box::new(stream));
        }
        let config = self.client.tls(ticket).await.map_err(|error| Problem::tls(&error))?;
        let name = server_name(&target.host).map_err(|error| Problem::tls(&io::Error::other(error)))?;
        match timeout_at(deadline, TlsConnector::from(config).connect(name, stream)).await {
            Ok(Ok(stream)) => Ok(Box::new(stream)),
            Ok(Err(error)) => Err(Problem::tls(&error)),
            Err(_) => Err(Problem::unconnected(&io::ErrorKind::TimedOut.into())),
        }
    }

    async fn send(
        &self,
        target: &Target,
        stream: Box<dyn Stream>,
        running: Arc<InFlight>,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Answer, Problem> {
        let limit = self.config.limits.http_body_bytes;
        let head_only = request.method() == Method::HEAD;
        let what = format!("{} {target}", request.method());
        let request = self.as_sent(target, request)?;
        let mut builder = http1::Builder::new();
        let handshake = builder.max_buf_size(HEAD_BYTES).handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| Problem::protocol(&error, limit))?;
        let first_byte = options.first_byte_timeout.unwrap_or(Duration::MAX);
        let answered = timeout(first_byte, head(sender.send_request(request), connection)).await;
        let answered = answered
            .map_err(|_| Problem::timed_out("no answer arrived within the guest's own time limit"))?;
        let (response, connection) = answered.map_err(|error| Problem::protocol(&error, limit))?;
        if !head_only && declared(response.headers()).is_some_and(|bytes| bytes > limit) {
            return Err(Problem::response_too_large(limit));
        }
        let deadline = self.deadline;
        let response = response.map(|body| received(body, self, options.between_bytes_timeout, what));
        let rest = async move {
            // The request is in flight until the connection ends.
            let _running = running;
            let Some(connection) = connection else { return Ok(()) };
            // The reader of the body receives errors; this future has no reader.
            timeout_at(deadline, connection).await.ok();
            Ok(())
        };
        Ok((response, Box::new(rest)))
    }

    /// The request as it is sent: with the checked path and the granted host.
    fn as_sent(
        &self,
        target: &Target,
        mut request: Request<WasiBody>,
    ) -> Result<Request<impl Body<Data = Bytes, Error = Error> + use<>>, Problem> {
        let path = match request.uri().query() {
            Some(query) => format!("{}?{query}", target.path),
            None => target.path.clone(),
        };
        *request.uri_mut() = Uri::try_from(path).map_err(|error| Problem::unsendable(&error))?;
        let default_port = if target.https { 443 } else { 80 };
        let host = match target.port {
            port if port == default_port => target.host.to_string(),
            port => format!("{}:{port}", target.host),
        };
        let host = HeaderValue::try_from(host).map_err(|error| Problem::unsendable(&error))?;
        request.headers_mut().insert(HOST, host);
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        let limit = self.config.limits.http_body_bytes;
        Ok(request.map(|body| sent(body, limit, Arc::clone(&self.traffic))))
    }
}

/// The request with the header `traceparent` of its span, unless the guest set one: then the trace is the guest's own.
fn traced(mut request: Request<WasiBody>, context: Option<TraceContext>) -> Request<WasiBody> {
    let header = context.and_then(|context| HeaderValue::try_from(context.traceparent()).ok());
    if let Some(header) = header {
        request.headers_mut().entry(TRACEPARENT).or_insert(header);
    }
    request
}

/// The body that the guest sends.
fn sent(body: WasiBody, limit: usize, traffic: Arc<Traffic>) -> impl Body<Data = Bytes, Error = Error> {
    let counted = body.inspect_frame(move |frame| traffic.sent(length(frame)));
    Limited::new(counted, limit).map_err(move |error| match error.downcast() {
        Ok(error) => *error,
        Err(_) => Error::HttpRequestBodySize(u64::try_from(limit).ok()),
    })
}

/// The body that the server sends, until the deadline of the call that made the request.
///
/// `between_bytes` is the longest silence that the guest allows; `None` means no limit but the deadline. If the answer
/// breaks off, the plugin's log gets a line with `what`, the request: the guest receives no error code for that.
fn received(body: Incoming, exchange: &Exchange, between_bytes: Option<Duration>, what: String) -> WasiBody {
    let Exchange { traffic, output, deadline, .. } = exchange.clone();
    let limit = exchange.config.limits.http_body_bytes;
    let next_byte_by =
        move || between_bytes.map_or(deadline, |silence| deadline.min(Instant::now() + silence));
    let counted = body.inspect_frame(move |frame| traffic.received(length(frame)));
    let begun = (Limited::new(counted, limit), next_byte_by(), output, what);
    let frames = unfold(Some(begun), move |state| async move {
        let (mut body, by, output, what) = state?;
        let error = match timeout_at(by, body.frame()).await {
            Ok(None) => return None,
            Ok(Some(Ok(frame))) => return Some((Ok(frame), Some((body, next_byte_by(), output, what)))),
            Ok(Some(Err(error))) => match error.downcast_ref::<hyper::Error>() {
                Some(error) if error.is_incomplete_message() => Error::HttpResponseIncomplete,
                Some(_) => Error::HttpProtocolError,
                None => too_large(limit),
            },
            Err(_) => Error::ConnectionReadTimeout,
        };
        output.about(LogLevel::Warn, &format!("http: {what}: the answer broke off: {error}"));
        Some((Err(error), None))
    });
    StreamBody::new(frames).boxed_unsync()
}

fn length(frame: &Frame<Bytes>) -> usize {
    frame.data_ref().map_or(0, Bytes::len)
}

/// Drives the connection until the head of the answer arrives. Returns the connection too, unless it has ended.
async fn head<B: Body<Data = Bytes, Error = Error> + 'static>(
    sent: impl Future<Output = hyper::Result<Response<Incoming>>>,
    mut connection: Connection<B>,
) -> hyper::Result<(Response<Incoming>, Option<Connection<B>>)> {
    let mut sent = std::pin::pin!(sent);
    tokio::select! {
        biased;
        response = &mut sent => Ok((response?, Some(connection))),
        ended = &mut connection => {
            ended?;
            Ok((sent.await?, None))
        }
    }
}

async fn connect(addresses: &[SocketAddr], deadline: Instant) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    let tried = addresses.len().min(ADDRESSES_TRIED);
    for (index, address) in addresses.iter().take(tried).enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(tried - index).unwrap_or(1);
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failed = error,
            Err(_) => failed = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failed)
}

fn server_name(host: &Host) -> Result<ServerName<'static>, rustls::pki_types::InvalidDnsNameError> {
    match host {
        Host::Name(name) => ServerName::try_from(name.clone()),
        Host::Address(address) => Ok(ServerName::from(*address)),
    }
}

/// The length of the body that the headers declare.
fn declared(headers: &HeaderMap) -> Option<usize> {
    let length = headers.get(CONTENT_LENGTH)?.to_str().ok()?;
    // A number that does not fit exceeds every limit. hyper refuses a text that is not a number.
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| length.parse().unwrap_or(usize::MAX))
}
