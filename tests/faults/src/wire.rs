//! A TCP connection that knows when what was written has left, and how it is to end.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::mpsc,
};

use crate::Cut;

/// What answers ask of their connection. One for each.
#[derive(Debug)]
pub(crate) struct Control {
    cuts: mpsc::UnboundedSender<Cut>,
    flushes: AtomicU64,
    reset: AtomicBool,
}

/// The socket under the HTTP library.
pub(crate) struct Wire {
    stream: TcpStream,
    control: Arc<Control>,
}

// === impl Control ===

impl Control {
    /// The receiver is the connection's.
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Cut>) {
        let (cuts, received) = mpsc::unbounded_channel();
        (Arc::new(Self { cuts, flushes: AtomicU64::new(0), reset: AtomicBool::new(false) }), received)
    }

    /// Cuts the connection, as soon as what was written before has left.
    pub(crate) fn cut(&self, cut: Cut) {
        // A connection that has ended needs no cut.
        let _ = self.cuts.send(cut);
    }

    /// So many times everything written had left.
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::SeqCst)
    }

    /// The connection ends in a reset, not in an orderly close.
    pub(crate) fn end_in_reset(&self) {
        self.reset.store(true, Ordering::SeqCst);
    }
}

// === impl Wire ===

impl Wire {
    pub(crate) fn new(stream: TcpStream, control: Arc<Control>) -> Self {
        Self { stream, control }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.control.reset.load(Ordering::SeqCst) {
            // Without it the connection ends in order, which a test would notice.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if flushed.is_ready() {
            self.control.flushes.fetch_add(1, Ordering::SeqCst);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
