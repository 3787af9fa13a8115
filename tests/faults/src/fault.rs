//! Faults: what can go wrong with one answer.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use h2::Reason;
use parking_lot::Mutex;

use crate::{Frame, Status, reply::Reply};

/// How an answer or a connection breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The answer ends properly, but too early.
    End,
    /// The connection is closed in the middle (`FIN`).
    Close,
    /// The connection is reset (`RST`). The client can still read bytes that its kernel received before.
    Reset,
    /// The answer stops without an end. Other answers on the same HTTP/2 connection continue.
    Stall,
    /// The connection stays open but is dead in both directions: not even pings are answered.
    HalfOpen,
    /// `RST_STREAM` for this answer; the connection continues. On HTTP/1.1 the connection is closed.
    Stream(Reason),
    /// `GOAWAY`: open answers continue, and new requests need a new connection. On HTTP/1.1 the connection is
    /// closed after the answer.
    GoAway,
}

/// What happens to one answer. Start with [`Fault::good`] and spoil it, or use another constructor.
///
/// The steps apply in this order: add first frames, edit, join, split into chunks, delay, cut off.
#[derive(Clone, Debug)]
pub struct Fault {
    pub(crate) head: Head,
    pub(crate) spoil: Spoil,
}

/// The answer before it is spoiled.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    /// The answer of a server without faults.
    Good,
    /// No answer.
    Never(Cut),
    /// The list as a `Table`.
    Table,
    /// Another answer.
    Other(Reply),
}

/// The changes to the body of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spoil {
    pub(crate) first: Vec<Frame>,
    pub(crate) edit: Option<Edit>,
    /// The number of frames in one chunk.
    pub(crate) joined: Option<usize>,
    /// The largest size of a chunk in bytes.
    pub(crate) chunk: Option<usize>,
    /// The time between two chunks.
    pub(crate) pause: Duration,
    pub(crate) cut: Option<(After, Cut)>,
}

/// Computes the frames that replace the n-th frame, counted from 1.
#[derive(Clone)]
pub(crate) struct Edit(pub(crate) Arc<EditFrames>);

type EditFrames = dyn Fn(usize, Frame) -> Vec<Frame> + Send + Sync;

/// How much of an answer is sent before it is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Bytes(usize),
    Frames(usize),
}

// === impl Fault ===

impl Fault {
    /// The answer of a server without faults, to be spoiled by the methods below.
    #[must_use]
    pub fn good() -> Self {
        Self { head: Head::Good, spoil: Spoil::default() }
    }

    /// No answer, not even headers. [`Cut::End`] acts as [`Cut::Close`]; after [`Cut::GoAway`] the good answer
    /// follows.
    #[must_use]
    pub fn no_answer(cut: Cut) -> Self {
        Self { head: Head::Never(cut), spoil: Spoil::default() }
    }

    /// A refusal with the `Status` that kube-apiserver sends for this code.
    #[must_use]
    pub fn status(code: u16) -> Self {
        Self::refusal(&Status::of(code))
    }

    /// A refusal with this `Status`.
    #[must_use]
    pub fn refusal(status: &Status) -> Self {
        Self { head: Head::Other(Reply::refusal(status)), spoil: Spoil::default() }
    }

    /// Status 200 with this body.
    ///
    /// # Panics
    /// The content type has characters that are not allowed in a header.
    #[must_use]
    pub fn body(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { head: Head::Other(Reply::ok(content_type, body)), spoil: Spoil::default() }
    }

    /// The collection as a `Table`, which kubectl requests and informers do not.
    #[must_use]
    pub fn table() -> Self {
        Self { head: Head::Table, spoil: Spoil::default() }
    }

    /// Adds a `Retry-After` of this many seconds to a refusal.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        let head = match self.head {
            Head::Other(reply) => Head::Other(reply.retry_after(seconds)),
            head => head,
        };
        Self { head, ..self }
    }

    /// Sends these frames before the correct frames of a watch.
    #[must_use]
    pub fn first(mut self, frames: impl IntoIterator<Item = Frame>) -> Self {
        self.spoil.first.extend(frames);
        self
    }

    /// Replaces each frame of a watch by the frames that `edit` returns. The number counts the frames of the watch
    /// from 1, without those added by [`first`](Self::first).
    #[must_use]
    pub fn edit(mut self, edit: impl Fn(usize, Frame) -> Vec<Frame> + Send + Sync + 'static) -> Self {
        self.spoil.edit = Some(Edit(Arc::new(edit)));
        self
    }

    /// Sends each frame of a watch twice.
    #[must_use]
    pub fn twice(self) -> Self {
        self.edit(|_, frame| vec![frame.clone(), frame])
    }

    /// Swaps the frames of a watch in pairs. The last of an odd number of frames is never sent. Use it for one watch
    /// only: the frame that is held back would appear in the next watch.
    #[must_use]
    pub fn swapped(self) -> Self {
        let held = Mutex::new(None);
        self.edit(move |_, frame| {
            let mut held = held.lock();
            match held.take() {
                Some(earlier) => vec![frame, earlier],
                None => {
                    *held = Some(frame);
                    Vec::new()
                }
            }
        })
    }

    /// Sends the frames of a watch in chunks of `frames`. A chunk is sent when it is full or the answer ends.
    #[must_use]
    pub fn joined(mut self, frames: usize) -> Self {
        self.spoil.joined = Some(frames);
        self
    }

    /// Sends the body in separate chunks of at most `bytes`.
    #[must_use]
    pub fn chunks(mut self, bytes: usize) -> Self {
        self.spoil.chunk = Some(bytes.max(1));
        self
    }

    /// Waits for `pause` before each chunk except the first.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.spoil.pause = pause;
        self
    }

    /// Breaks off after `bytes` of the body. A shorter body does not break off.
    #[must_use]
    pub fn cut_after_bytes(mut self, bytes: usize, cut: Cut) -> Self {
        self.spoil.cut = Some((After::Bytes(bytes), cut));
        self
    }

    /// Breaks off after `frames` of a watch. First frames and edited frames count.
    #[must_use]
    pub fn cut_after_frames(mut self, frames: usize, cut: Cut) -> Self {
        self.spoil.cut = Some((After::Frames(frames), cut));
        self
    }

    /// The watch sends this ERROR event and ends.
    #[must_use]
    pub fn error_event(status: &Status) -> Self {
        Self::good().first([Frame::error(status)]).cut_after_frames(1, Cut::End)
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Edit")
    }
}
