//! The frames of one watch as they arrive.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::{Instant, timeout_at};

use crate::frame::{FrameBuffer, FrameTooLong};

/// The frames of one watch.
pub(crate) struct WatchStream {
    body: Body,
    frames: FrameBuffer,
    ended: bool,
}

/// What a watch brings next.
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
    pub(crate) async fn next(&mut self, idle: Duration, deadline: Instant) -> Result<Next, FrameTooLong> {
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
    pub(crate) async fn ready(&mut self) -> Result<Option<Bytes>, FrameTooLong> {
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
