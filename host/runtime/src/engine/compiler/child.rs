//! The host's side of a process that compiles or looks up places: starts it, bounds what it answers, and ends it.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, ErrorKind},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitStatus, Stdio},
    thread::available_parallelism,
    time::Duration,
};

use informer_system::end_of;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, Command},
    time::timeout,
};

use super::{
    answer::{HEAD_BYTES, Head, Task, Work},
    compilation::{CodeFile, CompileLimits, NotCompiled},
};

/// The most threads of a compilation. Each needs memory of its own.
const THREADS: usize = 8;

/// Code is received in pieces of this size, which is the size of a pipe.
const PIECE: usize = 64 << 10;

/// The most bytes that are kept of the stderr of a process: the last ones, because the reason of its end comes last.
const LAST_WORDS: usize = 4096;

/// A process that compiles, in a process group of its own. Dropping it kills the group.
struct Process(Child);

/// Why the process gave no result.
enum Fault {
    /// The process ended without a whole answer.
    Ended,
    /// The process answered with a refusal or with invalid bytes, or this process could not receive the answer.
    Refused(NotCompiled),
}

// === impl Process ===

impl Process {
    fn start(program: &Path, arguments: &[OsString]) -> io::Result<Self> {
        let child = Command::new(program)
            .args(arguments)
            // The environment may have secrets.
            .env_clear()
            .env("RAYON_NUM_THREADS", threads().to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in a terminal is for the host, which ends this process.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self(child))
    }

    /// Ends the process and all that it started.
    fn kill(&mut self) {
        // Once it was waited for, its number may belong to another process.
        if let Some(group) = self.0.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Works in a process of its own. Returns the result in a file that never changes again. When it returns, the process has ended.
///
/// # Cancel safety
/// If the future is dropped, the process is killed.
pub(super) async fn work(
    (program, arguments): (&Path, &[OsString]),
    work: Work,
    input: &[u8],
    limits: CompileLimits,
) -> Result<File, NotCompiled> {
    let mut process = Process::start(program, arguments)
        .map_err(|error| NotCompiled::Failed(format!("{} cannot be started: {error}", program.display())))?;
    let finished = timeout(limits.time, converse(&mut process, work, input, limits)).await;
    // In any case the process ends here, and its memory with it.
    process.kill();
    process.0.wait().await.ok();
    finished.unwrap_or(Err(NotCompiled::TooLong { limit: limits.time }))
}

fn threads() -> usize {
    available_parallelism().map_or(1, |count| count.get().min(THREADS))
}

/// Sends the request and receives the answer, until the process has ended.
async fn converse(
    process: &mut Process,
    work: Work,
    input: &[u8],
    limits: CompileLimits,
) -> Result<File, NotCompiled> {
    let child = &mut process.0;
    let (Some(stdin), Some(mut stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(NotCompiled::Failed("the process has no pipes".to_owned()));
    };
    let received = async {
        let received = receive(&mut stdout, limits.memory).await;
        // A process that has answered has nothing left to do.
        if !matches!(received, Err(Fault::Ended)) {
            process.kill();
        }
        received
    };
    let mut last_words = Vec::new();
    let errors = end_of(stderr, LAST_WORDS, &mut last_words);
    // Without the rest of stderr, the status of the process tells how it ended.
    let ((), received, _) = tokio::join!(send(stdin, work, input, limits), received, errors);
    let ended = process.0.wait().await;
    received.map_err(|fault| match fault {
        Fault::Refused(why) => why,
        Fault::Ended => explain(ended, &String::from_utf8_lossy(&last_words), limits),
    })
}

/// Sends the request. A process that does not read it gives its reason by its answer or its end.
async fn send(mut stdin: ChildStdin, work: Work, input: &[u8], limits: CompileLimits) {
    let on_each = || limits.time.as_secs().saturating_add(1).saturating_mul(threads() as u64);
    let cpu_seconds = limits.cpu_seconds.unwrap_or_else(on_each);
    let task = Task { work, memory: limits.memory, cpu_seconds, input: input.len() as u64 };
    if stdin.write_all(&task.encode()).await.is_ok() {
        stdin.write_all(input).await.ok();
    }
}

/// Receives the answer, to the end of the stream. The result has at most as many bytes as the process may have memory.
async fn receive(stdout: &mut (impl AsyncRead + Unpin), most: u64) -> Result<File, Fault> {
    let mut head = [0; HEAD_BYTES];
    stdout.read_exact(&mut head).await?;
    match Head::decode(head, most).ok_or_else(garbled)? {
        Head::OutOfMemory => Err(Fault::Refused(NotCompiled::TooMuchMemory { limit: most })),
        Head::Invalid(length) => {
            let mut reason = Vec::new();
            stdout.take(length).read_to_end(&mut reason).await?;
            Err(Fault::Refused(NotCompiled::Invalid(String::from_utf8_lossy(&reason).into_owned())))
        }
        Head::Done(length) => {
            let result = receive_result(stdout, length).await?;
            if stdout.read(&mut [0]).await? == 0 { Ok(result) } else { Err(garbled()) }
        }
    }
}

/// Receives this many bytes. They are written in pieces, each to memory, so the thread does not wait for a disk.
async fn receive_result(stdout: &mut (impl AsyncRead + Unpin), length: u64) -> Result<File, Fault> {
    let mut code = CodeFile::create()?;
    let mut piece = vec![0; PIECE];
    let mut stdout = stdout.take(length);
    while stdout.limit() > 0 {
        let read = stdout.read(&mut piece).await?;
        match piece.get(..read) {
            Some([]) | None => return Err(Fault::Ended),
            Some(bytes) => code.write(bytes)?,
        }
    }
    code.seal().map_err(Fault::Refused)
}

fn garbled() -> Fault {
    Fault::Refused(NotCompiled::Failed("it answered with something other than a result".to_owned()))
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof => Self::Ended,
            _ => Self::Refused(error.into()),
        }
    }
}

/// The reason why a process ended without an answer.
fn explain(ended: io::Result<ExitStatus>, last_words: &str, limits: CompileLimits) -> NotCompiled {
    let status = match ended {
        Ok(status) => status,
        Err(error) => return NotCompiled::Failed(error.to_string()),
    };
    // The standard library prints the first text and aborts; a library that checks for failure prints the second one.
    let out_of_memory = ["memory allocation of", "Cannot allocate memory"];
    if out_of_memory.iter().any(|words| last_words.contains(words)) {
        return NotCompiled::TooMuchMemory { limit: limits.memory };
    }
    let how = match status.signal() {
        Some(signal) if signal == Signal::XCPU.as_raw() => {
            let limit = limits.cpu_seconds.map_or(limits.time, Duration::from_secs);
            return NotCompiled::TooLong { limit };
        }
        Some(signal) if signal == Signal::KILL.as_raw() => "it was killed; if the machine or the container ran out of memory, give it more or lower `compile-memory` under [host]".to_owned(),
        Some(signal) if signal == Signal::ABORT.as_raw() => "it aborted".to_owned(),
        Some(signal) => format!("it was ended by signal {signal}"),
        None => format!("it ended with {status}"),
    };
    let words = last_words.trim();
    NotCompiled::Failed(if words.is_empty() { how } else { format!("{how}: {words}") })
}

#[cfg(test)]
mod tests;
