//! What happens, step by step. The debug text of a script is the Rust that builds it.

/// Where it happens, and what happens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<Step>,
}

/// What stays the same during a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// Watch the namespaces one by one instead of all at once.
    pub(crate) namespaces: bool,
    pub(crate) page_size: Option<u32>,
    pub(crate) streaming: Streaming,
    /// Streaming lists are marked with the next bookmark, not at once.
    pub(crate) late_marks: bool,
    /// A watch from a version that is gone is opened, and ends with an event.
    pub(crate) gone_by_event: bool,
    /// Deltas that may wait for the controller; zero: the default.
    pub(crate) queue: usize,
    /// Milliseconds until an answer, in turn; empty: at once.
    pub(crate) latencies: Vec<u8>,
    /// Bytes in a chunk, in turn; empty: a frame is a chunk.
    pub(crate) chunks: Vec<u16>,
    /// Internal errors of a watch are retried for so many seconds.
    pub(crate) internal_error_retry: u8,
}

/// Streaming lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Streaming {
    /// The informer is told not to try.
    #[default]
    Off,
    /// They work.
    Works,
    /// The server refuses them.
    Refused,
    /// The server does not know what `sendInitialEvents` is: it never marks the end.
    Unmarked,
    /// As before; the informer is told to try each time.
    UnmarkedEachTime,
}

/// One step. Nothing else runs between two steps, unless the first is [`Step::Wait`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The collection changes. Hidden: the watches that are open never tell; the server will refuse to resume
    /// them once they told anything newer.
    Change {
        op: Op,
        key: Key,
        hidden: bool,
    },
    /// Something else in the cluster changes: only the version moves.
    Elsewhere,
    /// The server forgets its history.
    Compact,
    /// The server's watch cache falls behind: lists may be stale, watches are late.
    Lag,
    CatchUp,
    /// The resource is removed with all its objects: whoever asks for it gets a 404 (D-12).
    Remove,
    /// It is there again.
    Serve,
    /// All watches are told the version.
    Bookmark,
    /// The watch repeats its last event.
    Duplicate(Watch),
    /// The watch ends now.
    End(Watch, Ending),
    /// The watch ends after so many more bytes.
    Cut(Watch, u16, Ending),
    /// The watch ends before the newline of its next frame.
    CutNewline(Watch, Ending),
    /// The watch ends with an ERROR event.
    Error(Watch, Failure),
    /// The watch says something that no API server should.
    Nonsense(Watch, Nonsense),
    /// The next list or streaming list, page, or watch is answered like this.
    FailList(Fault),
    FailPage(Fault),
    FailWatch(Fault),
    /// A listener joins.
    Join(Listener),
    /// The listener with this number, in turn, leaves.
    Leave(u8),
    /// All listeners let go of what they hold.
    Acknowledge,
    Wait(Wait),
}

/// Which of the open watches, in turn.
pub(crate) type Watch = u8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: u8,
    pub(crate) name: u8,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Created or changed.
    Put,
    /// Created or changed into something that does not decode.
    Break,
    Delete,
    /// Deleted and created anew, under another UID.
    Recreate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As HTTP has it.
    Clean,
    Reset,
    /// Half open: nothing comes any more, not even the end.
    Stall,
}

/// What an ERROR event carries, and what a request is refused with.
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
    /// The answer ends after so many bytes.
    Truncated(u16, Ending),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    /// Seconds; zero: never.
    pub(crate) resync: u16,
    pub(crate) relist_all: bool,
    /// Holds its notifications until [`Step::Acknowledge`].
    pub(crate) holds: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// One turn of every task.
    Turn,
    Milliseconds(u16),
    Seconds(u16),
}
