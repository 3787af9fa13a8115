//! Bodies within their limits.

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

/// What the guest sends.
pub(super) struct RequestBody {
    body: WasiBody,
    limit: usize,
    left: usize,
    traffic: Arc<Traffic>,
}

/// What the server sends, until the deadline of the call that asked for it.
pub(super) struct ResponseBody {
    body: Incoming,
    limit: usize,
    left: usize,
    traffic: Arc<Traffic>,
    deadline: Instant,
    /// The longest silence allowed, where the guest asked for one.
    between_bytes: Option<Duration>,
    silence: Pin<Box<Sleep>>,
    /// Says that it broke off: of that a guest hears no code.
    told: Told,
}

/// Who is told of an answer that breaks off, and of which.
pub(super) struct Told {
    pub(super) output: Output,
    pub(super) what: String,
}

// === impl RequestBody ===

impl RequestBody {
    pub(super) fn new(body: WasiBody, limit: usize, traffic: Arc<Traffic>) -> Self {
        Self { body, limit, left: limit, traffic }
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
        Poll::Ready(match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                frame
            }
            None => Some(Err(Error::HttpRequestBodySize(u64::try_from(self.limit).ok()))),
        })
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
    pub(super) fn new(
        body: Incoming,
        limit: usize,
        traffic: Arc<Traffic>,
        deadline: Instant,
        between_bytes: Option<Duration>,
        told: Told,
    ) -> Self {
        let silence = Box::pin(sleep_until(latest(deadline, between_bytes)));
        Self { body, limit, left: limit, traffic, deadline, between_bytes, silence, told }
    }

    fn break_off<T>(&self, error: Error) -> Option<Result<T, Error>> {
        let line = format!("http: {}: the answer broke off: {error}", self.told.what);
        self.told.output.about(LogLevel::Warn, &line);
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
        self.traffic.received(bytes);
        let next = latest(self.deadline, self.between_bytes);
        self.silence.as_mut().reset(next);
        let Some(left) = self.left.checked_sub(bytes) else {
            self.left = 0;
            return Poll::Ready(self.break_off(too_large(self.limit)));
        };
        self.left = left;
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

/// A response that is larger than the plugin may receive.
pub(super) fn too_large(limit: usize) -> Error {
    Error::HttpResponseBodySize(u64::try_from(limit).ok())
}

/// An answer that breaks off.
fn broken(error: &hyper::Error) -> Error {
    if error.is_incomplete_message() { Error::HttpResponseIncomplete } else { Error::HttpProtocolError }
}

fn latest(deadline: Instant, between_bytes: Option<Duration>) -> Instant {
    between_bytes.map_or(deadline, |silence| deadline.min(Instant::now() + silence))
}

fn length<E>(frame: Option<&Result<Frame<Bytes>, E>>) -> usize {
    match frame {
        Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
        _ => 0,
    }
}
