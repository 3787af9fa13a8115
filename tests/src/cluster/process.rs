//! A server as a child process.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tokio::time::{self, Instant};

/// How often a condition of another process, which cannot wake us, is looked at.
pub(super) const POLL: Duration = Duration::from_millis(20);
/// A server that is asked to stop has this long before it is killed.
const STOP_WITHIN: Duration = Duration::from_secs(20);
const LOG_LINES_SHOWN: usize = 25;

/// A running server, killed when dropped.
///
/// It also ends itself when its standard input does, and holds that only from this process: however this process ends,
/// the server does not stay behind. (`PR_SET_PDEATHSIG` would end it with the *thread* that started it.)
#[derive(Debug)]
pub(super) struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

// === impl Process ===

impl Process {
    /// Starts `program`; what it prints is appended to `log`.
    pub(super) fn spawn(
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
    /// It has ended; the error shows how, and the end of its log.
    pub(super) fn check_running(&mut self) -> Result<()> {
        match self.child.try_wait().with_context(|| format!("wait for {}", self.name))? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}\n{}", self.name, self.log_tail()),
        }
    }

    /// Asks it to stop, and kills it if that takes too long.
    ///
    /// # Errors
    /// It had to be killed.
    ///
    /// # Cancel safety
    /// A dropped call kills it.
    pub(super) async fn stop(mut self) -> Result<()> {
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

    /// The end of what it printed, under a heading.
    pub(super) fn log_tail(&self) -> String {
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
        // Both fail only if it has ended already, and then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
