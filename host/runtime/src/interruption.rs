//! Why the host ends a call.

/// The most bytes that a guest may hand over in one call to the host. A list can name the same string a million times; the
/// host would copy each in one step that cannot be interrupted, at up to a millisecond per MiB. The largest legitimate
/// argument is the body of a request, of 3 MiB.
pub(crate) const HANDED_OVER_BYTES: usize = 4 << 20;

/// The error with which the host ends a call. Failures are classified by this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Interruption {
    #[error("the call took longer than its deadline")]
    Deadline,
    /// Calls in flight may use revoked grants until their deadline. Then the host ends them.
    #[error(
        "the host ended the call: a grant of its version was revoked, and the deadline for calls in flight has passed"
    )]
    GrantsRevoked,
    #[error("the call made too many calls to the host")]
    HostCalls,
    /// The instance was not made: what it takes was refused.
    #[error("there is no memory for another instance")]
    Memory,
    #[error("the component does not export `{0}`")]
    NotExported(&'static str),
}
