//! The frames of one watch as they arrive.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::{Instant, timeout_at};

use crate::error::Problem;

/// The frames of one watch.
pub(crate) struct WatchStream {
    body: Body,
    frames: FrameBuffer,
    ended: bool,
}

/// Takes chunks as they arrive and returns whole frames. A frame may be split at any byte, and a chunk may hold many.
///
/// A frame within one chunk is a slice of the chunk; only a frame that spans chunks is copied.
pub(crate) struct FrameBuffer {
    /// The unread part of the newest chunk.
    chunk: Bytes,
    /// The start of a frame, from earlier chunks. It contains no newline.
    begun: Vec<u8>,
    max_bytes: usize,
}

/// The next part of a watch.
#[derive(Debug)]
pub(crate) enum Next {
    Frame(Bytes),
    /// The watch ended: by the server's timeout, end of file, reset or GOAWAY. The reaction is the same for all of them
    ///
    Ended,
    /// Nothing was received for too long.
    Silent,
}

// === impl WatchStream ===

impl WatchStream {
    pub(crate) fn new(body: Body, max_frame_bytes: usize) -> Self {
        Self { body, frames: FrameBuffer::new(max_frame_bytes), ended: false }
    }

    /// Returns the next frame. Waits for bytes for at most `idle`, and not after `deadline`.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub(crate) async fn next(&mut self, idle: Duration, deadline: Instant) -> Result<Next, Problem> {
        loop {
            if let Some(frame) = self.frames.next_frame()? {
                return Ok(Next::Frame(frame));
            }
            if self.ended {
                // The last frame may lack its newline. The caller checks whether it is complete.
                return Ok(self.frames.rest().map_or(Next::Ended, Next::Frame));
            }
            let until = Instant::now().checked_add(idle).map_or(deadline, |at| at.min(deadline));
            match timeout_at(until, self.body.frame()).await {
                Err(_) => return Ok(Next::Silent),
                Ok(frame) => self.received(frame),
            }
        }
    }

    /// Returns the next frame that has arrived already, or `None` if there is none or the watch has ended. Never waits;
    /// the task is woken when there is more.
    pub(crate) async fn ready(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            if let Some(frame) = self.frames.next_frame()? {
                return Ok(Some(frame));
            }
            if self.ended {
                return Ok(None);
            }
            let polled = poll_fn(|context| Poll::Ready(pin!(self.body.frame()).poll(context))).await;
            match polled {
                Poll::Pending => return Ok(None),
                Poll::Ready(frame) => self.received(frame),
            }
        }
    }

    fn received(&mut self, frame: Option<Result<http_body::Frame<Bytes>, kube::Error>>) {
        match frame {
            None | Some(Err(_)) => self.ended = true,
            // Trailers are ignored.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.frames.push(data);
                }
            }
        }
    }

    /// Returns true once no more bytes can arrive.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }
}

// === impl FrameBuffer ===

impl FrameBuffer {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { chunk: Bytes::new(), begun: Vec::new(), max_bytes }
    }

    /// Appends a chunk.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        self.keep_rest();
        self.chunk = chunk;
    }

    /// Returns the next whole frame without its newline, or `None` if more bytes are needed. Empty lines are skipped.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Bytes>, Problem> {
        while let Some(at) = memchr::memchr(b'\n', &self.chunk) {
            let end = self.chunk.split_to(at + 1);
            let line = if self.begun.is_empty() { end } else { self.finish(&end) };
            let line = line.slice_ref(line.trim_ascii());
            self.check(line.len())?;
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
        self.keep_rest();
        self.check(self.begun.len())?;
        Ok(None)
    }

    /// Returns the bytes that are left when the stream has ended: a last frame without its newline, or a truncated one.
    pub(crate) fn rest(&mut self) -> Option<Bytes> {
        let end = std::mem::take(&mut self.chunk);
        let rest = self.finish(&end);
        let rest = rest.slice_ref(rest.trim_ascii());
        (!rest.is_empty()).then_some(rest)
    }

    /// Joins the start of a frame with its end.
    fn finish(&mut self, end: &[u8]) -> Bytes {
        self.begun.extend_from_slice(end);
        Bytes::from(std::mem::take(&mut self.begun))
    }

    /// Copies the unread bytes and releases the chunk, whose buffer may be much larger.
    fn keep_rest(&mut self) {
        self.begun.extend_from_slice(&std::mem::take(&mut self.chunk));
    }

    /// After a frame that exceeds the limit the stream cannot continue, because the next frame boundary is unknown.
    fn check(&self, len: usize) -> Result<(), Problem> {
        if len > self.max_bytes { Err(Problem::TooLong(self.max_bytes)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(frames: &mut FrameBuffer) -> Vec<Bytes> {
        std::iter::from_fn(|| frames.next_frame().unwrap()).collect()
    }

    #[test]
    fn frames_are_returned_whole_wherever_the_chunks_are_split() {
        let mut frames = FrameBuffer::new(100);

        frames.push(Bytes::from_static(b"one\ntwo\r\n\n thr"));
        assert_eq!(drain(&mut frames), ["one", "two"]);
        frames.push(Bytes::from_static(b"e"));
        assert_eq!(drain(&mut frames), [""; 0]);
        frames.push(Bytes::from_static(b"e\nrest"));
        assert_eq!(drain(&mut frames), ["three"]);

        assert_eq!(frames.rest().unwrap(), "rest");
        assert_eq!(frames.rest(), None);
    }

    #[test]
    fn a_frame_that_exceeds_the_limit_is_an_error_before_it_is_complete() {
        let mut frames = FrameBuffer::new(4);

        frames.push(Bytes::from_static(b"1234\n1234"));
        assert_eq!(frames.next_frame().unwrap().unwrap(), "1234");
        assert!(matches!(frames.next_frame(), Ok(None)));
        frames.push(Bytes::from_static(b"5"));
        assert!(matches!(frames.next_frame(), Err(Problem::TooLong(4))));
    }

    #[test]
    fn a_complete_frame_that_exceeds_the_limit_is_an_error() {
        let mut frames = FrameBuffer::new(4);

        frames.push(Bytes::from_static(b"12345\n"));

        assert!(matches!(frames.next_frame(), Err(Problem::TooLong(4))));
    }
}
