//! The classes of failures.

use serde::{Deserialize, Serialize};

/// The class of a failure. It decides what the reflector does, and what an operator should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ErrorClass {
    /// No process listens at the address.
    Refused,
    /// The connection was not established, or it broke: network, DNS, TLS, proxy.
    Unreachable,
    /// There are no credentials to send, so no request was sent.
    NoCredentials,
    /// The server sent nothing for longer than the timeout.
    Silent,
    /// 429: the server asks for fewer requests.
    Throttled,
    /// 429 from a server that has started and still fills its watch cache.
    Initializing,
    /// 410: the resource version is too old. The reflector relists.
    Expired,
    /// The resource version is too new for this server. The reflector relists.
    TooLargeResourceVersion,
    /// 401: the credentials are not accepted.
    Unauthorized,
    /// 403: the identity lacks the permission.
    Forbidden,
    /// 404: the server does not find the resource.
    NotFound,
    /// Any other error status, for example 500, in an answer or in an ERROR event.
    Server,
    /// The answer violates the Kubernetes API.
    Malformed,
    /// The list is larger than this host accepts (D-14).
    ListTooLarge,
    /// The caches of this host have reached their ceiling (D-16).
    CacheFull,
    /// A watch ended within a second and without an event.
    VeryShortWatch,
    /// A streaming list ended before its end mark.
    UnfinishedList,
    /// A streaming list and a plain list of the same resource version differ.
    Inconsistent,
    /// The server does not serve the resource, or not as configured: not in this version, or not by namespace.
    UnknownResource,
    /// A bug of the host.
    Bug,
}

// === impl ErrorClass ===

impl ErrorClass {
    /// Returns true if the server answered 429: it asks for a pause, and the request may be repeated as it was.
    pub(crate) fn asks_for_a_pause(self) -> bool {
        matches!(self, Self::Throttled | Self::Initializing)
    }

    /// The name of the class in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::NoCredentials => "no-credentials",
            Self::Silent => "silent",
            Self::Throttled => "throttled",
            Self::Initializing => "initializing",
            Self::Expired => "expired",
            Self::TooLargeResourceVersion => "too-large-resource-version",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::Server => "server",
            Self::Malformed => "malformed",
            Self::ListTooLarge => "list-too-large",
            Self::CacheFull => "cache-full",
            Self::VeryShortWatch => "very-short-watch",
            Self::UnfinishedList => "unfinished-list",
            Self::Inconsistent => "inconsistent",
            Self::UnknownResource => "unknown-resource",
            Self::Bug => "bug",
        }
    }
}
