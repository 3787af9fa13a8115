//! What can go wrong with one answer.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use h2::Reason;
use parking_lot::Mutex;

use crate::{Frame, Status, reply::Reply};

/// How something breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The answer ends as it should, only too soon.
    End,
    /// The connection is closed in the middle (`FIN`).
    Close,
    /// The connection is reset (`RST`); what the client's kernel has received before can still be read.
    Reset,
    /// Nothing more comes of this answer. On HTTP/2 the connection's other answers go on.
    Stall,
    /// Nothing goes in or out of the connection any more, not even an answer to a ping, and nobody closes it.
    HalfOpen,
    /// `RST_STREAM` for this answer, and the connection goes on; on HTTP/1.1 the connection is closed.
    Stream(Reason),
    /// `GOAWAY`: the connection's answers go on, and new requests must go elsewhere. On HTTP/1.1 the same, as
    /// well as it can be said there: the connection is closed after the answer.
    GoAway,
}

/// What happens to one answer. Made by [`Fault::good`] and then spoiled, or by one of the others.
///
/// The steps apply in this order: frames are put first, edited, joined, cut into chunks, delayed, cut off.
#[derive(Clone, Debug)]
pub struct Fault {
    pub(crate) head: Head,
    pub(crate) spoil: Spoil,
}

/// What the answer begins with.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    /// What a good server answers.
    Good,
    /// No answer.
    Never(Cut),
    /// The list as a `Table`.
    Table,
    /// Another answer.
    Other(Reply),
}

/// What happens to the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spoil {
    pub(crate) first: Vec<Frame>,
    pub(crate) edit: Option<Edit>,
    /// So many frames make one chunk.
    pub(crate) joined: Option<usize>,
    /// A chunk has no more bytes.
    pub(crate) chunk: Option<usize>,
    /// Between chunks.
    pub(crate) pause: Duration,
    pub(crate) cut: Option<(After, Cut)>,
}

/// The frames that go out instead of the n-th, from 1.
#[derive(Clone)]
pub(crate) struct Edit(pub(crate) Arc<EditFrames>);

type EditFrames = dyn Fn(usize, Frame) -> Vec<Frame> + Send + Sync;

/// How much of an answer comes before it is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Bytes(usize),
    Frames(usize),
}

// === impl Fault ===

impl Fault {
    /// The answer of a good server, to be spoiled.
    #[must_use]
    pub fn good() -> Self {
        Self { head: Head::Good, spoil: Spoil::default() }
    }

    /// Not even headers come. [`Cut::End`] is [`Cut::Close`] here; after [`Cut::GoAway`] the good answer comes.
    #[must_use]
    pub fn no_answer(cut: Cut) -> Self {
        Self { head: Head::Never(cut), spoil: Spoil::default() }
    }

    /// The API server refuses, with the status kube-apiserver sends with this code.
    #[must_use]
    pub fn status(code: u16) -> Self {
        Self::refusal(&Status::of(code))
    }

    /// The API server refuses, in these words.
    #[must_use]
    pub fn refusal(status: &Status) -> Self {
        Self { head: Head::Other(Reply::refusal(status)), spoil: Spoil::default() }
    }

    /// 200, and this.
    ///
    /// # Panics
    /// The content type has characters that no header may have.
    #[must_use]
    pub fn body(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { head: Head::Other(Reply::ok(content_type, body)), spoil: Spoil::default() }
    }

    /// The collection as a `Table`, the way kubectl asks for it and no informer does.
    #[must_use]
    pub fn table() -> Self {
        Self { head: Head::Table, spoil: Spoil::default() }
    }

    /// With a Retry-After of so many seconds; a good answer has none.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        let head = match self.head {
            Head::Other(reply) => Head::Other(reply.retry_after(seconds)),
            head => head,
        };
        Self { head, ..self }
    }

    /// These frames of a watch come before what is right.
    #[must_use]
    pub fn first(mut self, frames: impl IntoIterator<Item = Frame>) -> Self {
        self.spoil.first.extend(frames);
        self
    }

    /// Instead of each frame of a watch, those come that `edit` gives: none, the same, others. The number counts
    /// the watch's frames from 1; frames put [`first`](Self::first) are not among them.
    #[must_use]
    pub fn edit(mut self, edit: impl Fn(usize, Frame) -> Vec<Frame> + Send + Sync + 'static) -> Self {
        self.spoil.edit = Some(Edit(Arc::new(edit)));
        self
    }

    /// Each frame of a watch comes twice.
    #[must_use]
    pub fn twice(self) -> Self {
        self.edit(|_, frame| vec![frame.clone(), frame])
    }

    /// Each second frame of a watch comes before the one it should follow; the last of an odd number never comes.
    /// For a rule of one watch: what is held back of one would come in the next.
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

    /// Frames of a watch come in chunks of so many, and none before its chunk is full or the answer ends.
    #[must_use]
    pub fn joined(mut self, frames: usize) -> Self {
        self.spoil.joined = Some(frames);
        self
    }

    /// The body comes in chunks of at most so many bytes, each sent by itself.
    #[must_use]
    pub fn chunks(mut self, bytes: usize) -> Self {
        self.spoil.chunk = Some(bytes.max(1));
        self
    }

    /// So long passes before each chunk but the first.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.spoil.pause = pause;
        self
    }

    /// After so many bytes of the body it breaks off like this. A body that is shorter does not.
    #[must_use]
    pub fn cut_after_bytes(mut self, bytes: usize, cut: Cut) -> Self {
        self.spoil.cut = Some((After::Bytes(bytes), cut));
        self
    }

    /// After so many frames of a watch it breaks off like this; frames put first and edited ones count.
    #[must_use]
    pub fn cut_after_frames(mut self, frames: usize, cut: Cut) -> Self {
        self.spoil.cut = Some((After::Frames(frames), cut));
        self
    }

    /// The watch says this ERROR event and ends.
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
