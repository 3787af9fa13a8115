//! Runs a program of the operator that answers on its standard output, with bounds on its time and on what it prints.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{Command as Description, ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    time::timeout,
};

/// Standard error is read in pieces of this size.
const PIECE: usize = 4 << 10;

/// The limits of a program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramLimits {
    /// The longest time from its start to its end. Then it is killed, with all that it started.
    pub time: Duration,
    /// The most bytes of standard output. With more it is killed.
    pub output: usize,
    /// The number of bytes at the end of standard error that are kept. More are read and dropped.
    pub last_words: usize,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Standard output, or the reason why it cannot be used.
    pub output: Result<Vec<u8>, ProgramError>,
    /// Standard output of a program that ended with [`ProgramError::Failed`]; otherwise empty.
    pub output_of_failure: Vec<u8>,
    /// The end of standard error.
    pub last_words: Vec<u8>,
}

/// Why a program gave no answer. The texts follow the name of the program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It cannot be started.
    #[error("cannot be started: {0}")]
    NotStarted(#[source] io::Error),
    /// Its output cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It ended with this status.
    #[error("{}", ending(*.0))]
    Failed(ExitStatus),
    /// It exceeded the time.
    #[error("was ended because it had not finished after {} s", .0.as_secs_f64())]
    TooLong(Duration),
    /// It exceeded the output.
    #[error("was ended because it printed more than {0} bytes")]
    TooMuch(usize),
}

/// A program in a process group of its own. Dropping it kills the group while the program runs.
struct Running(Child);

// === impl Running ===

impl Drop for Running {
    fn drop(&mut self) {
        // Once it was waited for, its number may belong to another process.
        if let Some(group) = self.0.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// Runs a program to its end, without standard input. What it has started may outlive it only if it closes both outputs.
///
/// # Cancel safety
/// If the future is dropped, the program and all that it started are killed.
pub async fn run_program(program: Description, limits: ProgramLimits) -> Ended {
    run(program, None, limits).await
}

/// Runs a program like [`run_program`], but with these bytes as standard input. The program may end without reading them.
///
/// # Cancel safety
/// The same as for [`run_program`].
pub async fn run_program_with_input(program: Description, input: &[u8], limits: ProgramLimits) -> Ended {
    run(program, Some(input), limits).await
}

async fn run(program: Description, input: Option<&[u8]>, limits: ProgramLimits) -> Ended {
    let (mut last_words, mut output_of_failure) = (Vec::new(), Vec::new());
    let output = match start(program, input.is_some()) {
        Ok(mut running) => {
            let conversation = converse(&mut running.0, input.unwrap_or_default(), limits, &mut last_words);
            match timeout(limits.time, conversation).await {
                Ok(Ok((status, output))) if status.success() => Ok(output),
                Ok(Ok((status, output))) => {
                    output_of_failure = output;
                    Err(ProgramError::Failed(status))
                }
                Ok(Err(error)) => Err(error),
                Err(_) => Err(ProgramError::TooLong(limits.time)),
            }
        }
        Err(error) => Err(ProgramError::NotStarted(error)),
    };
    Ended { output, output_of_failure, last_words }
}

fn start(program: Description, has_input: bool) -> io::Result<Running> {
    let mut command = Command::from(program);
    let stdin = if has_input { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C in a terminal is for this process, which ends the program.
    command.process_group(0).kill_on_drop(true).spawn().map(Running)
}

async fn converse(
    child: &mut Child,
    input: &[u8],
    limits: ProgramLimits,
    last_words: &mut Vec<u8>,
) -> Result<(ExitStatus, Vec<u8>), ProgramError> {
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::Error::other("the program has no pipes").into());
    };
    let stdin = child.stdin.take();
    let errors = async { end_of(stderr, limits.last_words, last_words).await.map_err(ProgramError::from) };
    let input = async move {
        if let Some(mut stdin) = stdin {
            // The write fails if the program has closed its input. The output and the status show whether the program needed the rest.
            stdin.write_all(input).await.ok();
        }
        Ok::<(), ProgramError>(())
    };
    let (output, (), ()) = tokio::try_join!(all_of(stdout, limits.output), errors, input)?;
    Ok((child.wait().await?, output))
}

async fn all_of(from: impl AsyncRead + Unpin, most: usize) -> Result<Vec<u8>, ProgramError> {
    let mut bytes = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut bytes).await?;
    if bytes.len() > most { Err(ProgramError::TooMuch(most)) } else { Ok(bytes) }
}

/// Reads to the end and keeps the last `most` bytes. Takes no more memory than these and a piece of 4 KiB.
///
/// # Errors
/// The source cannot be read. The last bytes before that are kept.
///
/// # Cancel safety
/// If the future is dropped, `kept` has the last bytes that were read until then.
pub async fn end_of(mut from: impl AsyncRead + Unpin, most: usize, kept: &mut Vec<u8>) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return Ok(());
        }
        kept.extend_from_slice(piece.get(..length).unwrap_or_default());
        kept.drain(..kept.len().saturating_sub(most));
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ProgramLimits =
        ProgramLimits { time: Duration::from_secs(60), output: 1000, last_words: 10 };

    fn shell(script: &str) -> Description {
        let mut shell = Description::new("sh");
        shell.args(["-c", script]);
        shell
    }

    async fn failure(script: &str, limits: ProgramLimits) -> String {
        run_program(shell(script), limits).await.output.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn the_output_is_complete_and_the_end_of_the_errors_is_kept() {
        let script = "cat; printf answer; seq 100000 >&2; printf words >&2";
        let ended = run_program(shell(script), LIMITS).await;

        assert_eq!(ended.output.unwrap(), b"answer");
        assert_eq!(ended.last_words, b"0000\nwords");
    }

    #[tokio::test]
    async fn a_program_that_fails_or_does_not_exist_is_reported() {
        assert_eq!(failure("exit 3", LIMITS).await, "failed with exit status 3");
        assert_eq!(failure("kill -9 $$", LIMITS).await, "was ended by signal 9");
        let absent = run_program(Description::new("/absent/program"), LIMITS).await;
        assert!(
            matches!(absent.output, Err(ProgramError::NotStarted(error)) if error.kind() == io::ErrorKind::NotFound)
        );
    }

    #[tokio::test]
    async fn a_program_gets_its_input_and_the_output_of_a_failure_is_kept() {
        let ended = run_program_with_input(shell("cat; printf ' back'"), b"there and", LIMITS).await;
        assert_eq!(ended.output.unwrap(), b"there and back");

        let ended = run_program_with_input(shell("printf reason; exit 3"), &[0; 1 << 20], LIMITS).await;

        assert!(matches!(ended.output, Err(ProgramError::Failed(_))), "{:?}", ended.output);
        assert_eq!(ended.output_of_failure, b"reason");
    }

    #[tokio::test]
    async fn a_program_that_never_stops_printing_is_ended() {
        assert_eq!(failure("yes", LIMITS).await, "was ended because it printed more than 1000 bytes");
    }

    #[tokio::test]
    async fn a_program_that_is_slow_is_ended_with_all_that_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("number");
        let script = format!("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait", file.display());
        let mut running = Box::pin(run_program(shell(&script), LIMITS));
        let number = loop {
            let waited = timeout(Duration::from_millis(10), &mut running).await;
            assert!(waited.is_err(), "{waited:?}");
            if let Ok(number) = std::fs::read_to_string(&file) {
                break number;
            }
        };

        drop(running);

        // A process that has ended is a zombie until its parent waits for it.
        let state = || {
            let status =
                std::fs::read_to_string(format!("/proc/{}/status", number.trim())).unwrap_or_default();
            status.lines().find_map(|line| line.strip_prefix("State:\t").map(str::to_owned))
        };
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while state().is_some_and(|state| !state.starts_with('Z')) {
            assert!(tokio::time::Instant::now() < deadline, "{:?}", state());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let slow = ProgramLimits { time: Duration::from_millis(50), ..LIMITS };
        assert_eq!(failure("sleep 1000", slow).await, "was ended because it had not finished after 0.05 s");
    }
}
