//! The steps of a script. The debug text of a script is the Rust code that builds it.

/// A set-up and its steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<Step>,
}

/// The settings that do not change during a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// If true, each namespace is watched by itself instead of all at once.
    pub(crate) namespaces: bool,
    pub(crate) page_size: Option<u32>,
    pub(crate) streaming: Streaming,
    /// If true, a streaming list is marked with the next bookmark instead of at once.
    pub(crate) late_marks: bool,
    /// If true, a watch from an expired version is opened and ends with an ERROR event.
    pub(crate) gone_by_event: bool,
    /// The capacity of the delta queue; zero means the default.
    pub(crate) queue: usize,
    /// The milliseconds until an answer, in turn; empty means none.
    pub(crate) latencies: Vec<u8>,
    /// The bytes in a chunk, in turn; if empty, a frame is a chunk.
    pub(crate) chunks: Vec<u16>,
    /// The seconds for which internal errors of a watch are retried.
    pub(crate) internal_error_retry: u8,
}

/// The server's support for streaming lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Streaming {
    /// The informer does not try them.
    #[default]
    Off,
    /// They work.
    Works,
    /// The server refuses them.
    Refused,
    /// The server ignores `sendInitialEvents`, so it never sends the end mark.
    Unmarked,
    /// The same, and the informer tries each time.
    UnmarkedEachTime,
}

/// One step. Only [`Step::Wait`] lets other tasks run before the next step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Changes the collection. If `hidden`, the open watches omit the change, and the server refuses to resume them
    /// once they have sent a newer one.
    Change {
        op: Op,
        key: Key,
        hidden: bool,
    },
    /// Another change in the cluster: only the version changes.
    Elsewhere,
    /// The server discards its history.
    Compact,
    /// The server's watch cache lags: lists may be stale and watches late.
    Lag,
    CatchUp,
    /// Removes the resource with all its objects: requests for it are answered with 404 (D-12).
    Remove,
    /// Serves the resource again.
    Serve,
    /// Sends a bookmark to all watches.
    Bookmark,
    /// The watch repeats its last event.
    Duplicate(Watch),
    /// The watch ends now.
    End(Watch, Ending),
    /// The watch ends after this number of bytes.
    Cut(Watch, u16, Ending),
    /// The watch ends before the newline of its next frame.
    CutNewline(Watch, Ending),
    /// The watch ends with an ERROR event.
    Error(Watch, Failure),
    /// The watch sends something that no API server should send.
    Nonsense(Watch, Nonsense),
    /// Sets the answer to the next list or streaming list, page, or watch.
    FailList(Fault),
    FailPage(Fault),
    FailWatch(Fault),
    /// A listener joins.
    Join(Listener),
    /// Removes a listener, chosen by number.
    Leave(u8),
    /// All listeners release the notifications that they hold.
    Acknowledge,
    Wait(Wait),
}

/// The number of an open watch, modulo the number of watches.
pub(crate) type Watch = u8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: u8,
    pub(crate) name: u8,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Creates or changes an object.
    Put,
    /// Creates or changes an object that does not decode.
    Break,
    Delete,
    /// Deletes an object and creates it again with another UID.
    Recreate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A normal end of the body.
    Clean,
    Reset,
    /// A half-open connection: nothing follows, not even the end.
    Stall,
}

/// The failure in an ERROR event or in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Expired,
    Gone,
    Throttled,
    Internal,
    Unavailable,
    Timeout,
    TooLarge,
    Unauthorized,
    Forbidden,
    NotFound,
    /// An ERROR event without a Status; an answer of plain text.
    Bare,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Nonsense {
    NotJson,
    UnknownType,
    /// An object of another kind.
    Foreign,
    NoMetadata,
    EmptyLine,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Refused,
    /// The connection breaks before the answer.
    Broken,
    /// The answer never comes.
    Silent,
    Status(Failure),
    Html,
    /// The answer ends after this number of bytes.
    Truncated(u16, Ending),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    /// The resync period in seconds; zero means never.
    pub(crate) resync: u16,
    pub(crate) relist_all: bool,
    /// If true, it holds its notifications until [`Step::Acknowledge`].
    pub(crate) holds: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// One turn of every task.
    Turn,
    Milliseconds(u16),
    Seconds(u16),
}
