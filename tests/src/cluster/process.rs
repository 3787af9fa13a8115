//! A server as a child process.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tokio::time::{self, Instant};

/// The interval between two checks of another process.
pub(super) const POLL: Duration = Duration::from_millis(20);
/// How long a server may take to stop before it is killed.
const STOP_WITHIN: Duration = Duration::from_secs(120);
const LOG_LINES_SHOWN: usize = 25;

/// A running server. It is killed when dropped.
///
/// The server also ends when its standard input is closed, and only this process holds that input. So the server ends
/// with this process in every case. (`PR_SET_PDEATHSIG` would end it with the *thread* that started it.)
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

// === impl Process ===

impl Process {
    /// Starts `program`. Its output is appended to `log`.
    pub(crate) fn spawn(
        name: &'static str,
        program: &Path,
        arguments: &[String],
        log: PathBuf,
    ) -> Result<Self> {
        let open = || File::options().create(true).append(true).open(&log);
        let directory = log.parent().unwrap_or(Path::new("."));
        let child = Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(open().with_context(|| format!("open {}", log.display()))?)
            .stderr(open().with_context(|| format!("open {}", log.display()))?)
            .spawn()
            .with_context(|| format!("start {}", program.display()))?;
        Ok(Self { name, child, log })
    }

    /// # Errors
    /// Fails if the server has ended. The error contains the exit status and the end of the log.
    pub(crate) fn check_running(&mut self) -> Result<()> {
        match self.child.try_wait().with_context(|| format!("wait for {}", self.name))? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}\n{}", self.name, self.log_tail()),
        }
    }

    /// Stops the server, and kills it if that takes too long.
    ///
    /// # Errors
    /// Fails if the server had to be killed.
    ///
    /// # Cancel safety
    /// A dropped call kills the server.
    pub(crate) async fn stop(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + STOP_WITHIN;
        while self.exited()?.is_none() {
            if Instant::now() > deadline {
                bail!("{} did not stop within {STOP_WITHIN:?}\n{}", self.name, self.log_tail());
            }
            time::sleep(POLL).await;
        }
        Ok(())
    }

    /// The end of its output, under a heading.
    pub(crate) fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_else(|error| error.to_string());
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(LOG_LINES_SHOWN)..).unwrap_or_default();
        format!("--- the end of {} ---\n{}", self.log.display(), tail.join("\n"))
    }

    fn exited(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("wait for {}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls fail only if the server has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
