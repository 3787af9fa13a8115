//! Calls of a guest to the host during a call for a sampled event.

use std::time::Instant;

/// One span of a trace that is sampled, as W3C Trace Context names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The number of the trace, not zero.
    pub trace_id: u128,
    /// The number of the span within the trace, not zero.
    pub span_id: u64,
}

/// A call of a guest to the host.
#[derive(Clone, Copy, Debug)]
pub struct HostCall<'a> {
    /// The span of the call of the handler or reconciler, during which the guest makes this call.
    pub parent: TraceContext,
    /// The number of the span of this call, if the number was sent to a server already.
    pub span_id: Option<u64>,
    /// When it began.
    pub since: Instant,
    /// What was requested.
    pub request: HostRequest<'a>,
    /// What failed, as one word of a fixed set. `None` if nothing failed.
    pub error: Option<&'a str>,
}

/// A request of a guest to the host. It has no part of a body. A request over `wasi:http` has no path, query or headers, because
/// they may be secret.
#[derive(Clone, Copy, Debug)]
pub enum HostRequest<'a> {
    /// A request to the API server.
    Api {
        /// The method of HTTP.
        method: &'a str,
        /// The path without the query: names only.
        path: &'a str,
        /// The status of the answer, if there is one.
        status: Option<u16>,
    },
    /// A request over `wasi:http`.
    Http {
        /// The method.
        method: &'a str,
        /// True for `https`.
        https: bool,
        /// The name or address of the server.
        host: &'a str,
        /// The port of the server.
        port: u16,
        /// The status of the answer, if there is one.
        status: Option<u16>,
    },
    /// A call of `wasi:keyvalue`.
    KeyValue {
        /// `read` or `write`.
        operation: &'static str,
    },
}

// === impl TraceContext ===

impl TraceContext {
    /// The value of the header `traceparent`, with the flag that the trace is sampled.
    pub fn traceparent(self) -> String {
        format!("00-{:032x}-{:016x}-01", self.trace_id, self.span_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_has_every_digit_of_both_numbers() {
        let context = TraceContext { trace_id: 0x0af7, span_id: 0xb7 };

        assert_eq!(context.traceparent(), "00-00000000000000000000000000000af7-00000000000000b7-01");
    }
}
