//! `informer dev` as a process of its own.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a host that does not start is a failed test")]

use std::process::Stdio;

use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    time::timeout,
};

use crate::host::PATIENCE;

/// A running `informer dev`. Dropping it kills it.
pub struct Dev {
    _child: Child,
    answer: Lines<BufReader<ChildStdout>>,
    /// The log of the host, the plugins and the compilers.
    log: Lines<BufReader<ChildStderr>>,
}

/// The commands that `informer new` prints after it has written a project, up to the one that runs the handler, which is `informer dev`.
///
/// # Panics
/// Panics if the text does not name `informer dev`.
pub fn commands_after_new(printed: &str) -> Vec<&str> {
    let mut commands: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let dev = commands.iter().position(|command| command.starts_with("informer dev"));
    commands.truncate(dev.unwrap_or_else(|| panic!("no `informer dev` in: {printed}")) + 1);
    commands
}

// === impl Dev ===

impl Dev {
    /// Starts the command, which is `informer dev` with `--output json`.
    ///
    /// # Panics
    /// Panics if the program cannot be started.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let answer = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { _child: child, answer, log }
    }

    /// The URL of the API server. It can be called once.
    ///
    /// # Panics
    /// Panics if the command ends before it prints the URL.
    pub async fn url(&mut self) -> String {
        let answer: Value = serde_json::from_str(&found(&mut self.answer, &["url"]).await).unwrap();
        answer.get("url").and_then(Value::as_str).unwrap().to_owned()
    }

    /// Waits for a line of the log with this text.
    ///
    /// # Panics
    /// Panics with all lines until then if the command ends or the line does not come in time.
    pub async fn logs(&mut self, text: &str) {
        self.logs_all(&[text]).await;
    }

    /// Waits until each of these texts was in a line of the log, in any order.
    ///
    /// # Panics
    /// Panics with all lines until then if the command ends or a line does not come in time.
    pub async fn logs_all(&mut self, texts: &[&str]) {
        found(&mut self.log, texts).await;
    }
}

/// Reads lines until each of these texts was in a line, in any order. Returns the last line.
async fn found(lines: &mut Lines<impl AsyncBufRead + Unpin>, texts: &[&str]) -> String {
    let (mut seen, mut missing) = (String::new(), texts.to_vec());
    let searching = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            missing.retain(|text| !line.contains(*text));
            if missing.is_empty() {
                return Some(line);
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        None
    };
    match timeout(PATIENCE, searching).await {
        Ok(Some(line)) => line,
        Ok(None) => panic!("the command ended without {missing:?}:\n{seen}"),
        Err(_) => panic!("no line with {missing:?}:\n{seen}"),
    }
}
