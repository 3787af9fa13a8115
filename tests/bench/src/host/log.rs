//! The log of a host, line by line.

use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::ChildStderr,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinSet,
};

/// The INFO lines of a host that logs in JSON. All other lines are printed to standard error.
pub(super) struct Log {
    lines: UnboundedReceiver<Line>,
    /// The task that reads the log. Without this task, the pipe would become full, and the host would block.
    _reading: JoinSet<()>,
}

/// An INFO line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// When the line was read.
    pub(super) at: Instant,
    fields: Value,
}

// === impl Log ===

impl Log {
    /// Reads the log until the host ends or this is dropped.
    pub(super) fn new(stderr: ChildStderr) -> Self {
        let (sender, lines) = unbounded_channel();
        let mut reading = JoinSet::new();
        reading.spawn(async move {
            let mut texts = BufReader::new(stderr).lines();
            while let Ok(Some(text)) = texts.next_line().await {
                let at = Instant::now();
                match serde_json::from_str::<Value>(&text) {
                    Ok(fields) if fields.get("level").is_some_and(|level| level == "INFO") => {
                        // `send` fails only if the log is dropped, which also ends this task.
                        sender.send(Line { at, fields }).ok();
                    }
                    _ => pass_on(&text),
                }
            }
        });
        Self { lines, _reading: reading }
    }

    /// The next line with this message, if it was read already. The lines before it are dropped, or all lines if none has the message.
    pub(super) fn find(&mut self, message: &str) -> Option<Line> {
        std::iter::from_fn(|| self.lines.try_recv().ok()).find(|line| line.has(message))
    }

    /// Waits for the next line with this message. The lines before it are dropped.
    ///
    /// # Errors
    /// The host ends before it logs the message.
    pub(super) async fn wait_for(&mut self, message: &str) -> Result<Line> {
        loop {
            let line = self.lines.recv().await;
            let line = line.with_context(|| format!("the host ended before it logged `{message}`"))?;
            if line.has(message) {
                return Ok(line);
            }
        }
    }
}

// === impl Line ===

impl Line {
    /// The text of a field.
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    fn has(&self, message: &str) -> bool {
        self.text("message") == Some(message)
    }
}

#[expect(clippy::print_stderr, reason = "messages of the host explain a failed run")]
fn pass_on(line: &str) {
    eprintln!("{line}");
}
