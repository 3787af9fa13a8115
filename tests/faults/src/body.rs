//! The body of an answer, sent in pieces.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::Reason;
use tokio::sync::mpsc;

use crate::{Cut, wire::Control};

/// One piece of a body.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Bytes that are sent as a separate chunk.
    Chunk(Bytes),
    /// Breaks off the answer. After [`Cut::GoAway`] more pieces may follow.
    Cut(Cut),
}

/// A body that is sent while its outlet still writes it.
#[derive(Debug)]
pub(crate) struct Body {
    pieces: mpsc::Receiver<Piece>,
    control: Arc<Control>,
    /// If true, no more pieces are sent.
    silent: bool,
}

// === impl Body ===

impl Body {
    /// At most one piece waits in the channel, so a slow reader slows the writer down.
    pub(crate) fn new(control: Arc<Control>) -> (mpsc::Sender<Piece>, Self) {
        let (sender, pieces) = mpsc::channel(1);
        (sender, Self { pieces, control, silent: false })
    }

    /// The next result of `poll_frame`. Returns `None` if the cut does not end the body itself.
    fn cut(&mut self, cut: Cut) -> Option<Option<Result<http_body::Frame<Bytes>, h2::Error>>> {
        match cut {
            Cut::End => return Some(None),
            Cut::Stream(reason) => return Some(Some(Err(reason.into()))),
            Cut::Stall => {}
            Cut::Close | Cut::Reset | Cut::HalfOpen | Cut::GoAway => self.control.cut(cut),
        }
        self.silent = cut != Cut::GoAway;
        None
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, h2::Error>>> {
        while !self.silent {
            match ready!(self.pieces.poll_recv(cx)) {
                Some(Piece::Chunk(bytes)) => return Poll::Ready(Some(Ok(http_body::Frame::data(bytes)))),
                Some(Piece::Cut(cut)) => {
                    if let Some(end) = self.cut(cut) {
                        return Poll::Ready(end);
                    }
                }
                // The server stops.
                None => return Poll::Ready(Some(Err(Reason::CANCEL.into()))),
            }
        }
        Poll::Pending
    }
}
