//! What the dispatcher asks of a plugin, and what it hears back.

use std::{fmt, future::Future, time::Duration};

use crate::{Notification, ObjectKey};

/// One attempt to deliver a notification.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// What is delivered; several pending notifications of one object may have been merged into it.
    pub notification: Notification,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// Since the oldest notification merged into this one entered the queue.
    pub queued: Duration,
    /// The controlling owners of the object in all states merged into this one, where the queue was told to keep them:
    /// by name, in the object's namespace.
    pub controllers: Vec<ObjectKey>,
    /// A deletion of an object of which no handler was ever told: it is only for whoever reconciles the controllers.
    pub unseen: bool,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The handler returned ok: the notification counts as delivered.
    Acknowledged,
    /// Try again: after `after` where the handler said when, else after the backoff.
    Retry {
        /// The handler's own wish; it replaces the backoff.
        after: Option<Duration>,
        /// Why.
        failure: Failure,
    },
    /// Trying again cannot help; the notification becomes a dead letter at once.
    Permanent {
        /// Why.
        failure: Failure,
    },
    /// No call was made. The notification is given back, as one whose future was dropped, and the attempt does not count;
    /// unless the queue is closed it is handed out again at once.
    NotCalled,
}

/// Of a failure in a few words.
const MAX_BRIEF_BYTES: usize = 256;

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Who failed, for counters and for deciding on quarantine.
    pub kind: FailureKind,
    /// For a person: the guest's own words where it has any.
    pub message: String,
}

/// The classes of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// The handler returned an error of its own accord.
    Handler,
    /// The guest trapped: a panic, `unreachable`, an access out of bounds, a stack overflow.
    Trap,
    /// The call outlived its deadline.
    Deadline,
    /// The guest wanted more memory than it may have.
    Memory,
    /// The call made more calls to the host than it may.
    HostCalls,
    /// No instance could be made: instantiation or `start` failed.
    Start,
    /// The host's own fault.
    Host,
}

/// Takes deliveries, one call each. `runtime` implements it with a plugin; tests with closures.
pub trait EventHandler: Send + Sync + 'static {
    /// False where nobody is to be told of it: then no call is made, the notification is done with, and nothing is known
    /// about whether calls succeed.
    fn concerns(&self, delivery: &Delivery) -> bool {
        let _ = delivery;
        true
    }

    /// Delivers once and says how it ended. The dispatcher never makes two overlapping calls for one
    /// object, but may make overlapping calls for different ones, as many as the plugin has workers.
    ///
    /// # Cancel safety
    /// A dropped future ends the call: the guest may have seen all, some or nothing of it.
    fn handle(&self, delivery: Delivery) -> impl Future<Output = Outcome> + Send;
}

impl Failure {
    /// A failure of this class, with a message for a person.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The first line of it, cut at 256 bytes: for a line of a log or of a trace.
    #[must_use]
    pub fn brief(&self) -> Self {
        let line = self.message.lines().next().unwrap_or_default();
        let line = line.get(..line.floor_char_boundary(MAX_BRIEF_BYTES)).unwrap_or_default();
        Self::new(self.kind, line)
    }
}

impl FailureKind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Handler, Self::Trap, Self::Deadline, Self::Memory, Self::HostCalls, Self::Start, Self::Host];

    /// The one with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The word used in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Trap => "trap",
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::HostCalls => "host-calls",
            Self::Start => "start",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_failure_are_listed_each_under_a_word_of_its_own() {
        // Without a wildcard, so that a new kind is not forgotten here, nor in `ALL`.
        let place = |kind| match kind {
            FailureKind::Handler => 0,
            FailureKind::Trap => 1,
            FailureKind::Deadline => 2,
            FailureKind::Memory => 3,
            FailureKind::HostCalls => 4,
            FailureKind::Start => 5,
            FailureKind::Host => 6,
        };
        assert_eq!(FailureKind::ALL.map(place), [0, 1, 2, 3, 4, 5, 6]);
        let read = FailureKind::ALL.map(|kind| FailureKind::from_word(kind.as_str()));
        assert_eq!(read, FailureKind::ALL.map(Some));
        assert_eq!(FailureKind::from_word("Trap"), None);
    }
}
