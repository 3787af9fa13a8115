//! Spoils the body of an answer.

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use crate::{
    Cut, Frame,
    body::Piece,
    fault::{After, Spoil},
};

/// Receives the good body and sends the spoiled body.
pub(crate) struct Outlet {
    pieces: mpsc::Sender<Piece>,
    spoil: Spoil,
    /// The number of good frames received so far.
    frames: usize,
    /// The number of frames sent so far, including waiting frames.
    frames_out: usize,
    /// The frames that wait until their chunk is full, and their number.
    waiting: (BytesMut, usize),
    bytes_out: usize,
}

/// The client stopped reading the answer, or the answer was cut off. Its writer stops.
#[derive(Debug)]
pub(crate) struct Over;

// === impl Outlet ===

impl Outlet {
    pub(crate) fn new(pieces: mpsc::Sender<Piece>, spoil: Spoil) -> Self {
        Self { pieces, spoil, frames: 0, frames_out: 0, waiting: (BytesMut::new(), 0), bytes_out: 0 }
    }

    /// Sends the first frames of the fault, or cuts before them.
    pub(crate) async fn begin(&mut self) -> Result<(), Over> {
        self.cut_if_due(0).await?;
        for frame in std::mem::take(&mut self.spoil.first) {
            self.let_out(&frame).await?;
        }
        Ok(())
    }

    /// Sends a good frame, spoiled as the fault demands.
    pub(crate) async fn frame(&mut self, frame: Frame) -> Result<(), Over> {
        self.frames += 1;
        let frames = match &self.spoil.edit {
            Some(edit) => (edit.0)(self.frames, frame),
            None => vec![frame],
        };
        for frame in frames {
            self.let_out(&frame).await?;
        }
        Ok(())
    }

    /// Sends a body without frames.
    pub(crate) async fn whole(mut self, body: Bytes) {
        if self.begin().await.is_ok() && self.chunks(body).await.is_ok() {
            self.cut(Cut::End).await;
        }
    }

    /// Sends the waiting frames and breaks off the answer.
    pub(crate) async fn cut(&mut self, cut: Cut) {
        let (waiting, _) = std::mem::take(&mut self.waiting);
        if self.chunks(waiting.freeze()).await.is_ok() {
            // If the client stopped reading, the answer is already cut off.
            let _ = self.pieces.send(Piece::Cut(cut)).await;
        }
    }

    /// Waits until the client stops reading the answer.
    pub(crate) async fn closed(&self) {
        self.pieces.closed().await;
    }

    async fn let_out(&mut self, frame: &Frame) -> Result<(), Over> {
        self.frames_out += 1;
        self.waiting.0.extend_from_slice(frame.bytes());
        self.waiting.1 += 1;
        if self.waiting.1 >= self.spoil.joined.unwrap_or(1) {
            let (chunk, _) = std::mem::take(&mut self.waiting);
            self.chunks(chunk.freeze()).await?;
        }
        self.cut_if_due(self.frames_out).await
    }

    async fn chunks(&mut self, mut bytes: Bytes) -> Result<(), Over> {
        while !bytes.is_empty() {
            if self.bytes_out > 0 && !self.spoil.pause.is_zero() {
                tokio::time::sleep(self.spoil.pause).await;
            }
            let mut length = bytes.len().min(self.spoil.chunk.unwrap_or(usize::MAX));
            let cut = match self.spoil.cut {
                Some((After::Bytes(end), cut)) if end <= self.bytes_out + length => {
                    length = end.saturating_sub(self.bytes_out);
                    Some(cut)
                }
                _ => None,
            };
            let chunk = bytes.split_to(length);
            self.bytes_out += length;
            if !chunk.is_empty() {
                self.pieces.send(Piece::Chunk(chunk)).await.map_err(|_| Over)?;
            }
            if let Some(cut) = cut {
                self.strike(cut).await?;
            }
        }
        Ok(())
    }

    /// Cuts if the fault cuts after this number of frames.
    async fn cut_if_due(&mut self, frames: usize) -> Result<(), Over> {
        match self.spoil.cut {
            Some((After::Frames(due), cut)) if due == frames => {
                let (waiting, _) = std::mem::take(&mut self.waiting);
                self.spoil.cut = None;
                self.chunks(waiting.freeze()).await?;
                self.strike(cut).await
            }
            _ => Ok(()),
        }
    }

    async fn strike(&mut self, cut: Cut) -> Result<(), Over> {
        self.spoil.cut = None;
        self.pieces.send(Piece::Cut(cut)).await.map_err(|_| Over)?;
        // After a GOAWAY the answer continues.
        if cut == Cut::GoAway { Ok(()) } else { Err(Over) }
    }
}
