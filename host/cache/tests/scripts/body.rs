//! The body of an answer, and how much of it the client has read.

use std::{convert::Infallible, io, pin::Pin};

use bytes::Bytes;
use futures::{Stream, stream};
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::{
    ledger::{Mark, Scope},
    server::Server,
};

pub(crate) type Chunks = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, io::Error>> + Send>>;

/// One piece of a body.
pub(crate) enum Piece {
    Bytes(Bytes),
    /// Reached when the client reads on: it has seen everything before the mark.
    Mark(Mark),
    End,
    Reset,
    /// Nothing follows, not even the end.
    Stall,
}

struct Reading {
    pieces: mpsc::UnboundedReceiver<Piece>,
    server: Server,
    scope: Scope,
    deadline: Option<Instant>,
}

/// The effect of a piece.
enum Step {
    Yield(Result<Frame<Bytes>, io::Error>, Option<Reading>),
    Continue(Reading),
    End,
}

/// A stream of the pieces, which ends at `deadline`. Once there is no writer any more, it stays open and silent.
pub(crate) fn body(
    pieces: mpsc::UnboundedReceiver<Piece>,
    server: Server,
    scope: Scope,
    deadline: Option<Instant>,
) -> StreamBody<Chunks> {
    let reading = Reading { pieces, server, scope, deadline };
    StreamBody::new(Box::pin(stream::unfold(Some(reading), async |reading| {
        let mut reading = reading?;
        loop {
            match reading.step().await {
                Step::Yield(frame, rest) => return Some((frame, rest)),
                Step::Continue(rest) => reading = rest,
                Step::End => return None,
            }
        }
    })))
}

impl Reading {
    async fn step(mut self) -> Step {
        let piece = match self.deadline {
            None => self.pieces.recv().await,
            Some(deadline) => tokio::select! {
                biased;
                piece = self.pieces.recv() => piece,
                () = sleep_until(deadline) => Some(Piece::End),
            },
        };
        match piece {
            Some(Piece::Bytes(bytes)) => Step::Yield(Ok(Frame::data(bytes)), Some(self)),
            Some(Piece::Mark(mark)) => {
                self.server.took(&self.scope, mark);
                Step::Continue(self)
            }
            Some(Piece::End) => Step::End,
            Some(Piece::Reset) => Step::Yield(Err(io::ErrorKind::ConnectionReset.into()), None),
            Some(Piece::Stall) | None => match std::future::pending::<Infallible>().await {},
        }
    }
}
