//! The binary, and one run of it.

use std::{
    collections::VecDeque,
    ffi::OsString,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use informer_tests::{binary, host::PATIENCE};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    time::{Instant, sleep, timeout},
};

/// What a run that ended by itself left behind.
pub(super) struct Finished {
    pub(super) status: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A run that ends when it is told to; killed when dropped.
pub(super) struct Running {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
    /// Of the log, what was read on the way to something else, and is still to be read.
    unread: VecDeque<String>,
    /// Holds the files it writes.
    _temporary: TempDir,
}

/// Without what the machine's user has set; in an empty directory.
fn command(binary: &Path, arguments: &[&str], temporary: &TempDir) -> Command {
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .env_clear()
        .env("TMPDIR", temporary.path())
        .env("HOME", temporary.path())
        .env("XDG_CACHE_HOME", std::env::temp_dir().join("informer-tests-cache"))
        .current_dir(temporary.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Runs it to its end.
pub(super) async fn informer(arguments: &[&str]) -> Finished {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = command(binary::informer().await, arguments, &temporary);
    let output = timeout(PATIENCE, command.output()).await.unwrap().unwrap();
    Finished {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Waits until the host at this admin address is well: all caches have synced, and all plugins serve.
pub(super) async fn well(admin: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let asked = informer(&["status", "--admin", admin]).await;
        if asked.status == Some(0) {
            return;
        }
        assert!(Instant::now() < deadline, "not all is well: {}{}", asked.stdout, asked.stderr);
        sleep(Duration::from_millis(50)).await;
    }
}

impl Running {
    pub(super) async fn start(arguments: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        Self::spawn(command(binary::informer().await, arguments, &temporary), temporary)
    }

    /// With these variables in its environment.
    pub(super) async fn start_with(
        arguments: &[&str],
        environment: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut command = command(binary::informer().await, arguments, &temporary);
        command.envs(environment);
        Self::spawn(command, temporary)
    }

    /// As a process of a user without a home directory.
    pub(super) async fn start_without_home(arguments: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut command = command(binary::informer().await, arguments, &temporary);
        command.env_remove("HOME");
        Self::spawn(command, temporary)
    }

    fn spawn(mut command: Command, temporary: TempDir) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, stdout, stderr, unread: VecDeque::new(), _temporary: temporary }
    }

    /// The next line on stdout.
    pub(super) async fn line(&mut self) -> String {
        timeout(PATIENCE, self.stdout.next_line()).await.unwrap().unwrap().unwrap()
    }

    /// Reads the log up to a line with these words.
    pub(super) async fn logged(&mut self, words: &str) -> String {
        self.log_up_to(words).await.pop().unwrap()
    }

    /// What it logged since it was last read, up to a line with these words, which is the last.
    pub(super) async fn log_up_to(&mut self, words: &str) -> Vec<String> {
        let reading = async {
            let mut read = Vec::new();
            loop {
                let line = match self.unread.pop_front() {
                    Some(line) => Some(line),
                    None => self.stderr.next_line().await.unwrap(),
                };
                let Some(line) = line else { break };
                let found = line.contains(words);
                read.push(line);
                if found {
                    return read;
                }
            }
            panic!("the log ended without `{words}`: {read:#?}");
        };
        timeout(PATIENCE, reading).await.unwrap_or_else(|_| panic!("nothing logged with `{words}`"))
    }

    /// Where the admin endpoint of a host listens. What else it logged by then, plugins may be at work already, is still
    /// to be read.
    pub(super) async fn admin(&mut self) -> String {
        let mut read = self.log_up_to("the admin endpoint listens").await;
        let line = read.pop().unwrap();
        read.extend(self.unread.drain(..));
        self.unread = read.into();
        line.rsplit_once("address=").unwrap().1.trim().to_owned()
    }

    /// Sends a signal, by its name without `SIG`.
    pub(super) async fn signal(&self, name: &str) {
        let process = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &process]).status().await.unwrap();
        assert!(sent.success());
    }

    /// From now on it writes to no file beyond so many bytes; none: as far as the disk goes.
    pub(super) async fn limit_files(&self, bytes: Option<u32>) {
        let process = self.child.id().unwrap().to_string();
        let soft = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let limit = format!("--fsize={soft}:");
        let set = Command::new("prlimit").args(["--pid", &process, &limit]).status().await;
        let set =
            set.unwrap_or_else(|error| panic!("this test needs the program prlimit, of util-linux: {error}"));
        assert!(set.success());
    }

    /// Ends within so long.
    pub(super) async fn ended(mut self, within: Duration) -> ExitStatus {
        timeout(within, self.child.wait()).await.unwrap().unwrap()
    }
}
