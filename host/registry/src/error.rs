//! Why an artifact is not pulled or pushed.

use std::{path::PathBuf, time::Duration};

use informer_types::excerpt;

use crate::{
    Digest, Reference,
    contents::InvalidContents,
    manifest::InvalidManifest,
    policy::{NotVerified, PolicyError},
};

/// The most bytes shown of what a registry says.
const SHOWN: usize = 512;

/// Why an artifact is not pulled or pushed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// There is no answer.
    #[error("{registry} does not answer: {why}")]
    Unreachable {
        /// The host.
        registry: String,
        /// The error of the connection.
        why: String,
    },
    /// The answer takes too long.
    #[error("{registry} did not send {what} within {limit:?}")]
    TooSlow {
        /// The host.
        registry: String,
        /// What was requested.
        what: String,
        /// The longest time.
        limit: Duration,
    },
    /// The registry requires other credentials.
    #[error(
        "{registry} does not let this host read or write {repository}: {}; log in with `docker login {registry}`, or name \
         `credentials` in the [[registry]] of {registry}",
        excerpt(why, SHOWN)
    )]
    Unauthorized {
        /// The host.
        registry: String,
        /// The repository.
        repository: String,
        /// The message of the registry.
        why: String,
    },
    /// The registry does not have it.
    #[error("{registry} has no {what}; correct the name, or push it")]
    Absent {
        /// The host.
        registry: String,
        /// What was requested.
        what: String,
    },
    /// The registry answers with another status.
    #[error("{registry} answers {status} for {what}: {}", excerpt(why, SHOWN))]
    Status {
        /// The host.
        registry: String,
        /// The status of HTTP.
        status: u16,
        /// What was requested.
        what: String,
        /// The answer.
        why: String,
    },
    /// A file of credentials or authorities cannot be used.
    #[error("{}, which holds {what} for {registry}, cannot be used: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The host.
        registry: String,
        /// The expected content.
        what: &'static str,
        /// The cause.
        why: String,
    },
    /// The bytes are not those that were asked for.
    #[error(
        "{what} from {registry} is {found}, and {expected} was requested: the registry or something on the way changed it"
    )]
    OtherBytes {
        /// The host.
        registry: String,
        /// What was requested.
        what: String,
        /// The digest that was requested.
        expected: Digest,
        /// The digest of what came.
        found: Digest,
    },
    /// More bytes than this host accepts.
    #[error("{what} is larger than {limit} bytes, which is the most that this host accepts{remedy}")]
    TooLarge {
        /// What was requested.
        what: String,
        /// The most bytes.
        limit: u64,
        /// The remedy, with `; ` before it, or nothing.
        remedy: &'static str,
    },
    /// It is not a component.
    #[error("{reference} is not a component: {source}")]
    Manifest {
        /// The artifact.
        reference: Reference,
        /// What is wrong with it.
        source: InvalidManifest,
    },
    /// Its config does not fit.
    #[error("{reference} is not a component: {source}")]
    Contents {
        /// The artifact.
        reference: Reference,
        /// What is wrong with it.
        source: InvalidContents,
    },
    /// The interfaces that its config names are refused.
    #[error("{reference} is not pulled, by what its config says: {why}")]
    Refused {
        /// The artifact.
        reference: Reference,
        /// Why.
        why: String,
    },
    /// The policy is not satisfied.
    #[error(transparent)]
    NotVerified(#[from] NotVerified),
    /// A file of the policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// It is not in the cache.
    #[error("{0} is not in the cache")]
    NotCached(Reference),
    /// The library that pushes failed.
    #[error("{registry} does not take {reference}: {}", excerpt(why, SHOWN))]
    NotPushed {
        /// The host.
        registry: String,
        /// The artifact.
        reference: Reference,
        /// What the library says.
        why: String,
    },
}

// === impl RegistryError ===

impl RegistryError {
    /// Returns true if the registry could not be asked or did not serve the artifact, so the same request may succeed later.
    /// Returns false if the artifact itself is refused.
    pub fn is_about_registry(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::TooSlow { .. }
            | Self::Unauthorized { .. }
            | Self::Absent { .. }
            | Self::Status { .. }
            | Self::File { .. }
            | Self::NotCached(_)
            | Self::NotPushed { .. } => true,
            Self::OtherBytes { .. }
            | Self::TooLarge { .. }
            | Self::Manifest { .. }
            | Self::Contents { .. }
            | Self::Refused { .. }
            | Self::NotVerified(_)
            | Self::Policy(_) => false,
        }
    }
}
