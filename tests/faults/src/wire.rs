//! A TCP connection that counts completed flushes and can end in a reset.

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

/// The requests of answers to their connection. Each connection has one.
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
    /// The receiver belongs to the connection.
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Cut>) {
        let (cuts, received) = mpsc::unbounded_channel();
        (Arc::new(Self { cuts, flushes: AtomicU64::new(0), reset: AtomicBool::new(false) }), received)
    }

    /// Cuts the connection as soon as everything written before has been sent.
    pub(crate) fn cut(&self, cut: Cut) {
        // A connection that has ended needs no cut.
        let _ = self.cuts.send(cut);
    }

    /// How many times everything written so far had been sent.
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::SeqCst)
    }

    /// Ends the connection in a reset instead of an orderly close.
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
            // If this fails, the connection ends in an orderly close, which a test would detect.
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
