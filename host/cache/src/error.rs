//! Why a request, a list or a watch failed, and what that means.

use std::{error::Error, io, sync::Arc, time::Duration};

use http::StatusCode;

use crate::api_status::ApiStatus;

/// What a failure means: what the reflector does about it, and what an operator should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// Nobody listens at the address.
    Refused,
    /// The connection could not be made or broke: network, DNS, TLS, proxy, credentials helper.
    Unreachable,
    /// No byte came within the time allowed.
    Silent,
    /// 429: the server wants fewer requests.
    Throttled,
    /// 410: the resource version is too old. The reflector lists anew.
    Expired,
    /// The resource version is too new for this server. The reflector lists anew.
    TooLargeResourceVersion,
    /// 401: the credentials are not accepted.
    Unauthorized,
    /// 403: the identity may not do this.
    Forbidden,
    /// 404.
    NotFound,
    /// 5xx, or a status the server sent instead of an event.
    Server,
    /// The answer is not what the Kubernetes API promises.
    Malformed,
    /// A watch ended within a second and without an event.
    VeryShortWatch,
    /// A streaming list ended before its end mark.
    UnfinishedList,
    /// A streaming list and a plain one of the same resource version differ.
    Inconsistent,
    /// The resource does not exist, or not in this form.
    UnknownResource,
    /// A bug of the host.
    Bug,
}

/// A request that failed, told for an operator.
#[derive(Debug, thiserror::Error)]
#[error("the API server at {server} {problem}{}", problem.advice(call))]
pub struct RequestError {
    server: Arc<str>,
    call: String,
    #[source]
    problem: Problem,
}

/// What went wrong with one request. The texts go on from "the API server at URL".
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// Not a source: the text says the only part of it that helps.
    #[error("cannot be reached: {}", innermost(.0.as_ref()))]
    Transport(Box<dyn Error + Send + Sync>),
    #[error("was silent for {}", Seconds(*.0))]
    Silent(Duration),
    #[error("answered {code}{}", said(*.code, &.status.message))]
    Status { code: StatusCode, status: Box<ApiStatus>, retry_after: Option<Duration> },
    #[error("answered with HTML, not JSON: is it an API server?")]
    Html,
    #[error("broke off its answer after {0} bytes")]
    Truncated(u64),
    #[error("answered with a text that is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    #[error("answered with {0}")]
    Unexpected(String),
    #[error("answered with {0}: it ignored `Accept: application/json`")]
    Table(&'static str),
    #[error("sent an object of more than {0} bytes")]
    TooLong(usize),
}

/// Why a run of the reflector ended.
#[derive(Debug, thiserror::Error)]
pub enum ReflectorError {
    /// No list.
    #[error("cannot list {resource}")]
    List {
        /// What was listed.
        resource: String,
        /// Why not.
        source: RequestError,
    },
    /// No watch, or one that broke in a way that a resumption does not mend.
    #[error("cannot watch {resource}")]
    Watch {
        /// What was watched.
        resource: String,
        /// Why not.
        source: RequestError,
    },
    ///
    #[error(
        "the watch of {resource} ended within a second and without an event; a proxy that cuts long answers does that"
    )]
    VeryShortWatch {
        /// What was watched.
        resource: String,
    },
    ///
    #[error("the streaming list of {resource} ended before the server marked its end")]
    UnfinishedList {
        /// What was listed.
        resource: String,
    },
    ///
    #[error(
        "the streaming list of {resource} and a plain one, both at {resource_version}, differ: {difference}"
    )]
    Inconsistent {
        /// What was listed.
        resource: String,
        /// At which resource version.
        resource_version: String,
        /// What each of them had.
        difference: String,
    },
    /// The resource cannot be watched.
    #[error(transparent)]
    Discovery(#[from] crate::discovery::DiscoveryError),
}

// === impl ErrorClass ===

impl ErrorClass {
    /// The word used in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Silent => "silent",
            Self::Throttled => "throttled",
            Self::Expired => "expired",
            Self::TooLargeResourceVersion => "too-large-resource-version",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::Server => "server",
            Self::Malformed => "malformed",
            Self::VeryShortWatch => "very-short-watch",
            Self::UnfinishedList => "unfinished-list",
            Self::Inconsistent => "inconsistent",
            Self::UnknownResource => "unknown-resource",
            Self::Bug => "bug",
        }
    }
}

// === impl RequestError ===

impl RequestError {
    pub(crate) fn new(server: &Arc<str>, call: impl Into<String>, problem: Problem) -> Self {
        Self { server: Arc::clone(server), call: call.into(), problem }
    }

    /// What the failure means.
    pub fn class(&self) -> ErrorClass {
        self.problem.class()
    }

    /// How long the server asked to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.problem {
            Problem::Status { status, retry_after, .. } => retry_after.or_else(|| status.retry_after()),
            _ => None,
        }
    }

    ///
    pub(crate) fn has_reason_expired(&self) -> bool {
        matches!(&self.problem, Problem::Status { status, .. } if status.has_reason_expired())
    }

    /// the server no longer or not yet has the resource version asked for.
    pub(crate) fn is_version_unavailable(&self) -> bool {
        matches!(self.class(), ErrorClass::Expired | ErrorClass::TooLargeResourceVersion)
    }

    /// it passes by itself and leaves no gap, so the same request may be sent again.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.class(), ErrorClass::Refused | ErrorClass::Throttled)
    }

    /// True where the server does not know what was asked for: 400 or 422.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(
            &self.problem,
            Problem::Status { code: StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY, .. }
        )
    }

    ///
    pub(crate) fn is_internal_error(&self) -> bool {
        matches!(&self.problem, Problem::Status { status, .. } if status.is_internal_error())
    }
}

// === impl Problem ===

impl Problem {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Transport(source) if is_refused(source.as_ref()) => ErrorClass::Refused,
            Self::Transport(_) => ErrorClass::Unreachable,
            Self::Silent(_) => ErrorClass::Silent,
            Self::Status { status, .. } if status.is_too_large_resource_version() => {
                ErrorClass::TooLargeResourceVersion
            }
            Self::Status { status, .. } if status.is_expired() => ErrorClass::Expired,
            Self::Status { status, .. } if status.is_too_many_requests() => ErrorClass::Throttled,
            Self::Status { code, .. } => match *code {
                StatusCode::UNAUTHORIZED => ErrorClass::Unauthorized,
                StatusCode::FORBIDDEN => ErrorClass::Forbidden,
                StatusCode::NOT_FOUND => ErrorClass::NotFound,
                _ => ErrorClass::Server,
            },
            Self::Html
            | Self::Truncated(_)
            | Self::NotJson(_)
            | Self::Unexpected(_)
            | Self::Table(_)
            | Self::TooLong(_) => ErrorClass::Malformed,
        }
    }

    /// The end of the sentence: which call it was about, and what would help.
    fn advice(&self, call: &str) -> String {
        let remedy = match self.class() {
            ErrorClass::Unauthorized => "; renew the credentials in the kubeconfig or the service account",
            ErrorClass::Forbidden => "; grant get, list and watch on it to this identity",
            ErrorClass::Refused => "; is it running?",
            _ => "",
        };
        format!(" ({call}){remedy}")
    }
}

impl ApiStatus {
    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }
}

// === impl ReflectorError ===

impl ReflectorError {
    /// What the failure means.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::List { source, .. } | Self::Watch { source, .. } => source.class(),
            Self::VeryShortWatch { .. } => ErrorClass::VeryShortWatch,
            Self::UnfinishedList { .. } => ErrorClass::UnfinishedList,
            Self::Inconsistent { .. } => ErrorClass::Inconsistent,
            Self::Discovery(source) => source.class(),
        }
    }

    /// How long the server asked to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::List { source, .. } | Self::Watch { source, .. } => source.retry_after(),
            Self::Discovery(source) => source.retry_after(),
            Self::VeryShortWatch { .. } | Self::UnfinishedList { .. } | Self::Inconsistent { .. } => None,
        }
    }
}

/// An error and its causes in one line, each said once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// The layers of an HTTP client say "error sending request" and the like; only the last one knows why.
fn innermost(mut error: &(dyn Error + 'static)) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// What a status adds to its code, if anything.
fn said(code: StatusCode, message: &str) -> String {
    if message.is_empty() || code.canonical_reason() == Some(message) {
        return String::new();
    }
    format!(": {message}")
}

/// true where the peer itself refused the connection.
fn is_refused(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return true;
        }
        next = error.source();
    }
    false
}

struct Seconds(Duration);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}
