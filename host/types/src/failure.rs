//! Why a call failed, as data.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The longest brief message of a failure, in bytes.
const MAX_BRIEF_BYTES: usize = 256;

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The class of the failure, for counters and for the quarantine.
    pub kind: FailureKind,
    /// A message for a person, in the guest's own words if it has any.
    pub message: String,
}

/// The classes of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The handler returned an error.
    Handler,
    /// The guest trapped: a panic, `unreachable`, an access out of bounds, a stack overflow.
    Trap,
    /// The call exceeded its deadline.
    Deadline,
    /// The guest exceeded its memory limit.
    Memory,
    /// The call made more host calls than it may.
    HostCalls,
    /// No instance could be started: instantiation or `start` failed.
    Start,
    /// All plugins together reached the ceiling on the memory of guests.
    GuestMemory,
    /// A fault of the host.
    Host,
}

// === impl Failure ===

impl Failure {
    /// A failure of this class, with a message for a person.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The failure with the first line of its message, cut at 256 bytes, for a line of a log or a trace.
    #[must_use]
    pub fn brief(&self) -> Self {
        let line = self.message.lines().next().unwrap_or_default();
        let line = line.get(..line.floor_char_boundary(MAX_BRIEF_BYTES)).unwrap_or_default();
        Self::new(self.kind, line)
    }
}

impl FailureKind {
    /// All classes.
    pub const ALL: [Self; 8] = [
        Self::Handler,
        Self::Trap,
        Self::Deadline,
        Self::Memory,
        Self::HostCalls,
        Self::Start,
        Self::GuestMemory,
        Self::Host,
    ];

    /// The class with this word. Returns `None` if there is none.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The word for the class in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Trap => "trap",
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::HostCalls => "host-calls",
            Self::Start => "start",
            Self::GuestMemory => "guest-memory",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_failure_is_listed_and_has_its_own_word() {
        // Without a wildcard, so that a new kind is not forgotten here, nor in `ALL`.
        let place = |kind| match kind {
            FailureKind::Handler => 0,
            FailureKind::Trap => 1,
            FailureKind::Deadline => 2,
            FailureKind::Memory => 3,
            FailureKind::HostCalls => 4,
            FailureKind::Start => 5,
            FailureKind::GuestMemory => 6,
            FailureKind::Host => 7,
        };
        assert_eq!(FailureKind::ALL.map(place), [0, 1, 2, 3, 4, 5, 6, 7]);
        let read = FailureKind::ALL.map(|kind| FailureKind::from_word(kind.as_str()));
        assert_eq!(read, FailureKind::ALL.map(Some));
        assert_eq!(FailureKind::from_word("Trap"), None);
    }
}
