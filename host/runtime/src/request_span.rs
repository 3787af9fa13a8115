//! The spans of requests that the host sends for a guest, if the event of the call is sampled.

use std::time::Instant;

use http::Method;
use informer_types::{CallTrace, HostRequest, TraceContext};

/// A request in flight. Its span ends when this value is dropped, so a request that is abandoned has a span too.
#[derive(Debug)]
pub(crate) struct RequestSpan {
    trace: CallTrace,
    context: TraceContext,
    since: Instant,
    what: Request,
    status: Option<u16>,
    error: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) enum Request {
    /// A request to the API server. The path has no query.
    Api { method: Method, path: String },
    /// A request to a server that a grant names.
    Http { method: Method, https: bool, host: String, port: u16 },
}

// === impl RequestSpan ===

impl RequestSpan {
    /// Begins a request of this call. Without a trace, `what` is not called and no clock is read.
    #[inline]
    pub(crate) fn begin(trace: Option<&CallTrace>, what: impl FnOnce() -> Request) -> Option<Self> {
        let trace = trace?.clone();
        let context = trace.child();
        // The request counts as abandoned until `end` is called.
        let error = Some("abandoned");
        Some(Self { trace, context, since: Instant::now(), what: what(), status: None, error })
    }

    /// The span, for the server that receives the request.
    pub(crate) fn context(&self) -> TraceContext {
        self.context
    }

    /// Ends the request with the status of its answer, or with a word for what failed.
    pub(crate) fn end(mut self, status: Option<u16>, error: Option<&'static str>) {
        (self.status, self.error) = (status, error);
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        let Self { trace, context, since, what, status, error } = self;
        let refused = status.filter(|status| *status >= 400).map(|status| status.to_string());
        let error = refused.as_deref().or(*error);
        let request = match &*what {
            Request::Api { method, path } => {
                HostRequest::Api { method: method.as_str(), path, status: *status }
            }
            Request::Http { method, https, host, port } => {
                let (https, port, status) = (*https, *port, *status);
                HostRequest::Http { method: method.as_str(), https, host, port, status }
            }
        };
        trace.ended_as(context.span_id, *since, request, error);
    }
}
