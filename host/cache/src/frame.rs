//! Splits a byte stream into the lines of a watch.

use bytes::{Bytes, BytesMut};

/// Takes chunks as they come, gives whole frames. A frame may be split at any byte and a chunk may hold many.
pub(crate) struct FrameBuffer {
    buffer: BytesMut,
    /// No newline lies before this offset, so that a frame of many chunks is searched once.
    searched: usize,
    max_bytes: usize,
}

/// A frame beyond the limit; the stream cannot go on, its next frame boundary may be anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame is longer than {0} bytes")]
pub(crate) struct FrameTooLong(pub(crate) usize);

// === impl FrameBuffer ===

impl FrameBuffer {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, max_bytes }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next whole frame, without its newline; none until more bytes come. Empty lines are skipped.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Bytes>, FrameTooLong> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', unsearched) else {
                self.searched = self.buffer.len();
                return if self.searched > self.max_bytes {
                    Err(FrameTooLong(self.max_bytes))
                } else {
                    Ok(None)
                };
            };
            let line = self.buffer.split_to(self.searched + at + 1).freeze();
            self.searched = 0;
            let line = line.slice_ref(line.trim_ascii());
            if line.len() > self.max_bytes {
                return Err(FrameTooLong(self.max_bytes));
            }
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
    }

    /// What is left when the stream ended: a last frame without its newline, or a broken one.
    pub(crate) fn rest(&mut self) -> Option<Bytes> {
        self.searched = 0;
        let rest = self.buffer.split().freeze();
        let rest = rest.slice_ref(rest.trim_ascii());
        (!rest.is_empty()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(frames: &mut FrameBuffer) -> Vec<Bytes> {
        std::iter::from_fn(|| frames.next_frame().unwrap()).collect()
    }

    #[test]
    fn two_frames_in_a_chunk_and_one_over_three_chunks_come_out_whole() {
        let mut frames = FrameBuffer::new(100);

        frames.push(b"one\ntwo\r\n\n thr");
        assert_eq!(drain(&mut frames), ["one", "two"]);
        frames.push(b"e");
        assert_eq!(drain(&mut frames), [""; 0]);
        frames.push(b"e\nrest");
        assert_eq!(drain(&mut frames), ["three"]);

        assert_eq!(frames.rest().unwrap(), "rest");
        assert_eq!(frames.rest(), None);
    }

    #[test]
    fn a_frame_beyond_the_limit_is_an_error_before_its_end_came() {
        let mut frames = FrameBuffer::new(4);

        frames.push(b"1234\n1234");
        assert_eq!(frames.next_frame().unwrap().unwrap(), "1234");
        assert_eq!(frames.next_frame(), Ok(None));
        frames.push(b"5");
        assert_eq!(frames.next_frame(), Err(FrameTooLong(4)));
    }

    #[test]
    fn a_whole_frame_beyond_the_limit_is_an_error_too() {
        let mut frames = FrameBuffer::new(4);

        frames.push(b"12345\n");

        assert_eq!(frames.next_frame(), Err(FrameTooLong(4)));
    }
}
