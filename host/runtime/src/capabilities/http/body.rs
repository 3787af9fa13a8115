//! Bodies of requests and answers, within their limits.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};
use wasmtime_wasi_http::{Error, WasiBody};

use super::traffic::Traffic;
use crate::{LogLevel, output::Output};

/// The body that the guest sends.
pub(super) struct RequestBody {
    body: WasiBody,
    room: Room,
    traffic: Arc<Traffic>,
}

/// The body that the server sends, until the deadline of the call that made the request.
pub(super) struct ResponseBody {
    body: Incoming,
    room: Room,
    terms: Terms,
    /// Ends when the server was silent for too long.
    silence: Pin<Box<Sleep>>,
}

/// The terms of an answer's body.
pub(super) struct Terms {
    /// The most bytes.
    pub(super) limit: usize,
    pub(super) deadline: Instant,
    /// The longest silence that the guest allows. `None` means no limit but the deadline.
    pub(super) between_bytes: Option<Duration>,
    pub(super) traffic: Arc<Traffic>,
    /// Receives a line if the answer breaks off: the guest receives no error code for that.
    pub(super) output: Output,
    /// The request, for that line.
    pub(super) what: String,
}

/// The bytes that a body may still have.
struct Room {
    limit: usize,
    left: usize,
}

// === impl RequestBody ===

impl RequestBody {
    pub(super) fn new(body: WasiBody, limit: usize, traffic: Arc<Traffic>) -> Self {
        Self { body, room: Room { limit, left: limit }, traffic }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let bytes = length(frame.as_ref());
        self.traffic.sent(bytes);
        if self.room.take(bytes) {
            return Poll::Ready(frame);
        }
        Poll::Ready(Some(Err(Error::HttpRequestBodySize(u64::try_from(self.room.limit).ok()))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

// === impl ResponseBody ===

impl ResponseBody {
    pub(super) fn new(body: Incoming, terms: Terms) -> Self {
        let silence = Box::pin(sleep_until(terms.next_byte_by()));
        Self { body, room: Room { limit: terms.limit, left: terms.limit }, terms, silence }
    }

    fn break_off<T>(&self, error: Error) -> Option<Result<T, Error>> {
        let line = format!("http: {}: the answer broke off: {error}", self.terms.what);
        self.terms.output.about(LogLevel::Warn, &line);
        Some(Err(error))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                ready!(self.silence.as_mut().poll(context));
                return Poll::Ready(self.break_off(Error::ConnectionReadTimeout));
            }
        };
        let bytes = length(frame.as_ref());
        self.terms.traffic.received(bytes);
        let next = self.terms.next_byte_by();
        self.silence.as_mut().reset(next);
        if !self.room.take(bytes) {
            self.room.left = 0;
            return Poll::Ready(self.break_off(too_large(self.room.limit)));
        }
        Poll::Ready(match frame {
            Some(Err(error)) => self.break_off(broken(&error)),
            Some(Ok(frame)) => Some(Ok(frame)),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

// === impl Terms ===

impl Terms {
    fn next_byte_by(&self) -> Instant {
        self.between_bytes.map_or(self.deadline, |silence| self.deadline.min(Instant::now() + silence))
    }
}

// === impl Room ===

impl Room {
    /// Returns true if the bytes fit.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// The error for an answer that exceeds the limit.
pub(super) fn too_large(limit: usize) -> Error {
    Error::HttpResponseBodySize(u64::try_from(limit).ok())
}

/// The error for an answer that breaks off.
fn broken(error: &hyper::Error) -> Error {
    if error.is_incomplete_message() { Error::HttpResponseIncomplete } else { Error::HttpProtocolError }
}

fn length<E>(frame: Option<&Result<Frame<Bytes>, E>>) -> usize {
    match frame {
        Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
        _ => 0,
    }
}
