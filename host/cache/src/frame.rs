//! Splits a byte stream into the lines of a watch.

use bytes::Bytes;

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

/// A frame exceeds the limit. The stream cannot continue, because the next frame boundary is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame is longer than {0} bytes")]
pub(crate) struct FrameTooLong(pub(crate) usize);

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
    pub(crate) fn next_frame(&mut self) -> Result<Option<Bytes>, FrameTooLong> {
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

    fn check(&self, len: usize) -> Result<(), FrameTooLong> {
        if len > self.max_bytes { Err(FrameTooLong(self.max_bytes)) } else { Ok(()) }
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
        assert_eq!(frames.next_frame(), Ok(None));
        frames.push(Bytes::from_static(b"5"));
        assert_eq!(frames.next_frame(), Err(FrameTooLong(4)));
    }

    #[test]
    fn a_complete_frame_that_exceeds_the_limit_is_an_error() {
        let mut frames = FrameBuffer::new(4);

        frames.push(Bytes::from_static(b"12345\n"));

        assert_eq!(frames.next_frame(), Err(FrameTooLong(4)));
    }
}
