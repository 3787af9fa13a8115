//! The output of a guest: stdout, stderr and `log.write` become lines of the log, within the limits of the call and of the
//! plugin. The end of stderr is kept for failure messages.

mod counters;

use std::{
    io,
    num::NonZeroU32,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

pub(crate) use counters::OutputCounters;

use crate::{Limits, LogLevel, LogLine, LogSink, LogStream, Subject};

/// The longest line of stdout or stderr. A longer one becomes several lines.
const LINE_BYTES: usize = 8 * 1024;

/// The most bytes of stderr kept for a failure message: a Python traceback fits.
const LAST_WORDS_BYTES: usize = 4 * 1024;

/// The bytes that a field counts in addition to its key and value, so that empty fields have a limit too.
const FIELD_BYTES: usize = 2;

/// The most bytes of one write. A guest with more writes again.
const WRITE_BYTES: usize = 64 * 1024;

/// The output of one instance. stdout, stderr and `log.write` share one limit on bytes per call; all instances of the plugin
/// share one limit on lines per second.
#[derive(Clone)]
pub(crate) struct Output(Arc<Mutex<State>>);

struct State {
    plugin: Arc<str>,
    sink: Arc<dyn LogSink>,
    shared: Arc<OutputCounters>,
    /// `None` means no limit.
    lines_per_second: Option<NonZeroU32>,
    limit: usize,
    left: usize,
    /// True once a line was cut. Later lines of the call are dropped, so that no line is missing in the middle.
    full: bool,
    dropped: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    last_words: Vec<u8>,
    /// The subject of the call in flight.
    subject: Option<Subject>,
}

/// stdout or stderr, as WASI needs it.
#[derive(Clone)]
pub(crate) struct GuestStream {
    output: Output,
    stream: LogStream,
}

/// Returns true for a line of stderr that is no help: an empty one, and Rust's hint to set a variable that no guest can see.
pub(crate) fn is_noise(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("note: run with `RUST_BACKTRACE")
}

// === impl Output ===

impl Output {
    pub(crate) fn new(
        plugin: Arc<str>,
        sink: Arc<dyn LogSink>,
        limits: &Limits,
        shared: Arc<OutputCounters>,
    ) -> Self {
        let (limit, lines_per_second) = (limits.log_bytes, limits.log_lines);
        let (stdout, stderr, last_words) = Default::default();
        Self(Arc::new(Mutex::new(State {
            plugin,
            sink,
            shared,
            lines_per_second,
            limit,
            left: limit,
            full: false,
            dropped: 0,
            stdout,
            stderr,
            last_words,
            subject: None,
        })))
    }

    pub(crate) fn stream(&self, stream: LogStream) -> GuestStream {
        GuestStream { output: self.clone(), stream }
    }

    pub(crate) fn enabled(&self, level: LogLevel) -> bool {
        self.0.lock().enabled(level)
    }

    /// Writes a line of `log.write`. At the limit of the call its message is cut and its fields are left out. A line whose
    /// level is off does not count.
    pub(crate) fn line(&self, level: LogLevel, message: &str, fields: &[(String, String)]) {
        let mut state = self.0.lock();
        if !state.enabled(level) {
            return;
        }
        let bytes = fields.iter().map(|(key, value)| key.len() + value.len() + FIELD_BYTES).sum();
        state.shared.bytes.add((message.len() + bytes) as u64);
        let message = state.take(message);
        let fields = if state.take_whole(bytes) { fields } else { &[] };
        if let Some(message) = message {
            state.emit(LogStream::Log, level, message, fields);
        }
    }

    /// Writes a line of the host about a request of the guest. It counts against the limit of the call, because a guest may
    /// cause many such lines.
    pub(crate) fn about(&self, level: LogLevel, message: &str) {
        let mut state = self.0.lock();
        if !state.enabled(level) {
            return;
        }
        if let Some(message) = state.take(message) {
            state.emit(LogStream::Host, level, message, &[]);
        }
    }

    /// Writes a line of the host about a call that is over. Only the limit on lines applies.
    pub(crate) fn afterwards(&self, level: LogLevel, message: &str) {
        let state = self.0.lock();
        if state.enabled(level) {
            state.emit(LogStream::Host, level, message, &[]);
        }
    }

    /// Begins a call for a subject: the limit is reset and the end of stderr is forgotten.
    pub(crate) fn begin(&self, subject: Option<Subject>) {
        let mut state = self.0.lock();
        state.subject = subject;
        state.left = state.limit;
        state.full = false;
        state.last_words.clear();
    }

    /// Ends the call: writes unfinished lines, and reports and counts the bytes dropped.
    pub(crate) fn end(&self) {
        let mut state = self.0.lock();
        for stream in [LogStream::Stdout, LogStream::Stderr] {
            state.flush(stream);
        }
        state.report_left_out();
        let dropped = std::mem::take(&mut state.dropped);
        state.shared.bytes_dropped.add(dropped);
        if dropped > 0 && state.enabled(LogLevel::Warn) {
            let message = format!(
                "{dropped} bytes of log dropped: the call exceeded its limit of {} bytes",
                state.limit
            );
            state.emit(LogStream::Host, LogLevel::Warn, &message, &[]);
        }
        state.subject = None;
    }

    /// The end of stderr since [`Output::begin`].
    pub(crate) fn last_words(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().last_words).trim().to_owned()
    }

    fn write(&self, stream: LogStream, bytes: &[u8]) {
        let mut state = self.0.lock();
        state.shared.bytes.add(bytes.len() as u64);
        if stream == LogStream::Stderr {
            state.remember(bytes);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut rest = piece;
            while !rest.is_empty() {
                let room = LINE_BYTES.saturating_sub(state.buffer(stream).len()).max(1);
                let (part, more) = rest.split_at(room.min(rest.len()));
                state.buffer(stream).extend_from_slice(part);
                rest = more;
                if part.ends_with(b"\n") {
                    state.flush(stream);
                } else if state.buffer(stream).len() >= LINE_BYTES {
                    state.flush_full(stream);
                }
            }
        }
    }
}

// === impl State ===

impl State {
    fn enabled(&self, level: LogLevel) -> bool {
        self.sink.enabled(&self.plugin, level)
    }

    fn buffer(&mut self, stream: LogStream) -> &mut Vec<u8> {
        if stream == LogStream::Stderr { &mut self.stderr } else { &mut self.stdout }
    }

    fn remember(&mut self, bytes: &[u8]) {
        self.last_words.extend_from_slice(bytes);
        let excess = self.last_words.len().saturating_sub(LAST_WORDS_BYTES);
        self.last_words.drain(..excess);
    }

    fn flush(&mut self, stream: LogStream) {
        let bytes = std::mem::take(self.buffer(stream));
        let level = if stream == LogStream::Stderr { LogLevel::Warn } else { LogLevel::Info };
        if bytes.is_empty() || !self.enabled(level) {
            return;
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches(['\r', '\n']);
        if stream == LogStream::Stderr && is_noise(text) {
            return;
        }
        if let Some(text) = self.take(text) {
            self.emit(stream, level, text, &[]);
        }
    }

    /// Writes the buffer as a line because it is full. An incomplete character stays in the buffer.
    fn flush_full(&mut self, stream: LogStream) {
        let buffer = self.buffer(stream);
        let incomplete = match std::str::from_utf8(buffer) {
            Err(error) if error.error_len().is_none() => buffer.split_off(error.valid_up_to()),
            _ => Vec::new(),
        };
        self.flush(stream);
        *self.buffer(stream) = incomplete;
    }

    /// The part of the text that fits into the limit of the call. Returns `None` if the limit was reached before. The rest is
    /// counted as dropped. The line break counts too, so that empty lines have a limit.
    fn take<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if !self.take_whole(1) {
            self.dropped += text.len() as u64;
            return None;
        }
        let fits = text.floor_char_boundary(self.left);
        self.left -= fits;
        self.full = fits < text.len();
        self.dropped += (text.len() - fits) as u64;
        text.get(..fits)
    }

    /// Returns true if all bytes fit.
    fn take_whole(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) if !self.full => {
                self.left = left;
                true
            }
            _ => {
                self.full = true;
                self.dropped += bytes as u64;
                false
            }
        }
    }

    fn emit(&self, stream: LogStream, level: LogLevel, message: &str, fields: &[(String, String)]) {
        let written = self.lines_per_second.is_none_or(|most| self.shared.take(most, Instant::now()));
        self.report_left_out();
        if written {
            self.write_line(stream, level, message, fields);
        }
    }

    /// Logs how many lines were left out, at most once per interval.
    fn report_left_out(&self) {
        let Some(most) = self.lines_per_second.filter(|_| self.enabled(LogLevel::Warn)) else { return };
        if let Some(lines) = self.shared.to_report(Instant::now()) {
            let message = format!(
                "{lines} lines of log left out: the plugin writes more than {most} a second, its limit (`log-lines` under [plugin.limits])"
            );
            self.write_line(LogStream::Host, LogLevel::Warn, &message, &[]);
        }
    }

    fn write_line(&self, stream: LogStream, level: LogLevel, message: &str, fields: &[(String, String)]) {
        let subject = self.subject.as_ref();
        self.sink.line(&LogLine { plugin: &self.plugin, stream, level, message, fields, subject });
    }
}

// === impl GuestStream ===

impl IsTerminal for GuestStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for GuestStream {
    async fn ready(&mut self) {}
}

impl OutputStream for GuestStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.output.write(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES)
    }
}

impl AsyncWrite for GuestStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.output.write(self.stream, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
