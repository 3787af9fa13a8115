//! The text log in tests.

use std::{
    io,
    sync::{Arc, Once},
};

use parking_lot::Mutex;

use super::OneLineFields;

/// What was written. Cheap to clone; all clones share one text.
#[derive(Clone, Default)]
pub(super) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the lines that `log` logs, without their times.
pub(crate) fn written(ansi: bool, log: impl FnOnce()) -> String {
    // tracing remembers for each log statement whether a subscriber listens. Another test may reach the statement first, on a thread
    // without a subscriber. This subscriber listens on all threads, so tracing never remembers that none does.
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| drop(tracing::subscriber::set_global_default(tracing_subscriber::registry())));
    let written = Written::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .fmt_fields(OneLineFields)
        .with_ansi(ansi)
        .without_time()
        .finish();
    tracing::subscriber::with_default(subscriber, log);
    written.text()
}
