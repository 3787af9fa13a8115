//! Why a run of a reflector ended.

use std::time::Duration;

use crate::{ErrorClass, RequestError, discovery::DiscoveryError};

/// Why a run of the reflector ended.
#[derive(Debug, thiserror::Error)]
pub enum ReflectorError {
    /// The list failed.
    #[error("cannot list {resource}")]
    List {
        /// The listed resource.
        resource: String,
        /// The failed request.
        source: RequestError,
    },
    /// The watch was not opened, or it ended with an error after which it cannot be resumed.
    #[error("cannot watch {resource}")]
    Watch {
        /// The watched resource.
        resource: String,
        /// The failed request.
        source: RequestError,
    },
    /// The watch ended within a second and without an event.
    #[error(
        "the watch of {resource} ended within a second and without an event; a proxy that cuts off long answers may be the cause"
    )]
    VeryShortWatch {
        /// The watched resource.
        resource: String,
    },
    /// The streaming list ended before its end mark.
    #[error("the streaming list of {resource} ended before the server marked its end")]
    UnfinishedList {
        /// The listed resource.
        resource: String,
    },
    /// The streaming list and a plain list of the same resource version differ.
    #[error(
        "the streaming list of {resource} and a plain one, both at {resource_version}, differ: {difference}"
    )]
    Inconsistent {
        /// The listed resource.
        resource: String,
        /// The resource version of both lists.
        resource_version: String,
        /// The objects that differ.
        difference: String,
    },
    /// The resource cannot be watched.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
}

// === impl ReflectorError ===

impl ReflectorError {
    /// The class of the failure.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::List { source, .. } | Self::Watch { source, .. } => source.class(),
            Self::VeryShortWatch { .. } => ErrorClass::VeryShortWatch,
            Self::UnfinishedList { .. } => ErrorClass::UnfinishedList,
            Self::Inconsistent { .. } => ErrorClass::Inconsistent,
            Self::Discovery(source) => source.class(),
        }
    }

    /// The pause that the server asked for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::List { source, .. } | Self::Watch { source, .. } => source.retry_after(),
            Self::Discovery(source) => source.retry_after(),
            Self::VeryShortWatch { .. } | Self::UnfinishedList { .. } | Self::Inconsistent { .. } => None,
        }
    }
}
