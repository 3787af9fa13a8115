//! A request without an answer: the error for the guest, the line for the plugin's log and the outcome for the counters.

use std::{error::Error as _, fmt, io, net::IpAddr};

use tokio_rustls::rustls;
use wasmtime_wasi_http::Error;

use super::{target::InvalidTarget, traffic::HttpOutcome};

/// Displays as the line for the log.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) outcome: HttpOutcome,
    /// The error for the guest: a code of `wasi:http`, without the host's view of the network.
    pub(super) error: Error,
    why: String,
}

/// Why a request is refused, for the plugin's log. The guest only receives that the request is denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Denied {
    #[error("{0}")]
    Target(#[from] InvalidTarget),
    #[error("plugins may use neither CONNECT nor TRACE")]
    Tunnel,
    #[error("the addresses of this machine, which no plugin may reach, cannot be listed")]
    UnknownMachine,
    #[error("it is not granted; add it to `http` under [plugin.grant]")]
    NotGranted,
    #[error(
        "a grant of the plugin was revoked, and the deadline for calls in flight has passed; grant it again under [plugin.grant]"
    )]
    Revoked,
    #[error("its path is not below a granted one")]
    Path,
    #[error("its method is not granted for this address")]
    Method,
    #[error("no plugin may reach {address}, the address of the name: {why}")]
    Address { address: IpAddr, why: &'static str },
    #[error("{address} is {what}")]
    Protected { address: IpAddr, what: &'static str },
    #[error("{address} is denied to all plugins by `http-deny` under [host]")]
    Network { address: IpAddr },
    #[error("the address of {0}, which no plugin may reach, cannot be resolved")]
    Unprotected(&'static str),
}

// === impl Problem ===

impl Problem {
    fn new(outcome: HttpOutcome, error: Error, why: impl Into<String>) -> Self {
        Self { outcome, error, why: why.into() }
    }

    pub(super) fn limited(most: usize) -> Self {
        let why = format!("{most} requests are in flight, the plugin's limit (`http-requests`)");
        Self::new(HttpOutcome::Limited, Error::ConnectionLimitReached, why)
    }

    /// The host sends no request now. A guest may try again.
    pub(super) fn fenced(why: &str) -> Self {
        Self::new(HttpOutcome::Failed, Error::DestinationUnavailable, why)
    }

    pub(super) fn timed_out(why: &str) -> Self {
        Self::new(HttpOutcome::TimedOut, Error::HttpResponseTimeout, why)
    }

    pub(super) fn request_too_large(limit: usize) -> Self {
        let why = format!("the request's body has more than {limit} bytes, the plugin's limit (`http-body`)");
        Self::new(HttpOutcome::TooLarge, Error::HttpRequestBodySize(u64::try_from(limit).ok()), why)
    }

    pub(super) fn response_too_large(limit: usize) -> Self {
        let why = format!("the answer's body has more than {limit} bytes, the plugin's limit (`http-body`)");
        Self::new(HttpOutcome::TooLarge, too_large(limit), why)
    }

    pub(super) fn unresolved(error: &io::Error) -> Self {
        let code = Error::DnsError { rcode: None, info_code: None };
        Self::new(HttpOutcome::Failed, code, format!("the name cannot be resolved: {error}"))
    }

    pub(super) fn unconnected(error: &io::Error) -> Self {
        let why = format!("no connection: {error}");
        match error.kind() {
            io::ErrorKind::TimedOut => Self::new(HttpOutcome::TimedOut, Error::ConnectionTimeout, why),
            io::ErrorKind::ConnectionRefused => Self::new(HttpOutcome::Failed, Error::ConnectionRefused, why),
            _ => Self::new(HttpOutcome::Failed, Error::DestinationUnavailable, why),
        }
    }

    pub(super) fn tls(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let code = match inner {
            Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
            _ => Error::TlsProtocolError,
        };
        Self::new(HttpOutcome::Failed, code, format!("no TLS: {error}"))
    }

    /// An error of hyper. If a body caused it, the error of the body is reported.
    pub(super) fn protocol(error: &hyper::Error, limit: usize) -> Self {
        match error.source().and_then(|source| source.downcast_ref::<Error>()) {
            Some(Error::HttpRequestBodySize(_)) => Self::request_too_large(limit),
            Some(ours) => Self::new(HttpOutcome::Failed, Error::HttpProtocolError, ours.to_string()),
            None if error.is_incomplete_message() => {
                let why = "the server closed the connection before it answered";
                Self::new(HttpOutcome::Failed, Error::HttpResponseIncomplete, why)
            }
            None => Self::new(HttpOutcome::Failed, Error::HttpProtocolError, error.to_string()),
        }
    }

    pub(super) fn unsendable(error: &impl fmt::Display) -> Self {
        Self::new(HttpOutcome::Failed, Error::HttpRequestUriInvalid, error.to_string())
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Self {
        Self::new(HttpOutcome::Denied, Error::HttpRequestDenied, denied.to_string())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// The error for an answer that exceeds the limit.
pub(super) fn too_large(limit: usize) -> Error {
    Error::HttpResponseBodySize(u64::try_from(limit).ok())
}
