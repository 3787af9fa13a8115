//! Errors of the host's interfaces, as the guest receives them.

use informer_types::{CodecError, Gvr, InvalidJson, PartsError};

use super::lister::ListError;
use crate::bindings::informer::plugin::types::{Error, ErrorCode};

impl Error {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn invalid(problem: &impl ToString) -> Self {
        Self::new(ErrorCode::Invalid, problem.to_string())
    }

    pub(super) fn not_granted(gvr: &Gvr) -> Self {
        let message = format!("reading {gvr} is not granted: add it to `read` under [plugin.grant]");
        Self::new(ErrorCode::NotGranted, message)
    }

    pub(super) fn namespace_not_granted(gvr: &Gvr, namespace: &str) -> Self {
        let message = if namespace.is_empty() {
            format!("reading {gvr} is granted in some namespaces only, and this object has none")
        } else {
            format!(
                "reading {gvr} is not granted in namespace {namespace}: add it after the `@` in `read` under \
                 [plugin.grant]"
            )
        };
        Self::new(ErrorCode::NotGranted, message)
    }

    pub(super) fn too_large(bytes: usize, limit: usize) -> Self {
        let message =
            format!("the answer has {bytes} bytes, the plugin's limit is {limit}: read pages or fields");
        Self::new(ErrorCode::TooLarge, message)
    }
}

impl From<CodecError> for Error {
    fn from(error: CodecError) -> Self {
        tracing::error!(%error, "a cached object cannot be read");
        Self::new(ErrorCode::Internal, error.to_string())
    }
}

impl From<InvalidJson> for Error {
    /// The text of a cached object was checked when it arrived, so this is a fault of the host.
    fn from(error: InvalidJson) -> Self {
        tracing::error!(%error, "a cached object is not JSON");
        Self::new(ErrorCode::Internal, error.to_string())
    }
}

impl From<PartsError> for Error {
    fn from(error: PartsError) -> Self {
        match error {
            PartsError::Json(error) => error.into(),
            PartsError::TooMuchToHash(_) => Self::invalid(&error),
        }
    }
}

impl From<ListError> for Error {
    fn from(error: ListError) -> Self {
        let code = match error {
            ListError::UnknownResource(_) => ErrorCode::UnknownResource,
            ListError::UnknownIndex(_) | ListError::InvalidVersion(_) => ErrorCode::Invalid,
        };
        Self::new(code, error.to_string())
    }
}
