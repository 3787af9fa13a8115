//! Stops a program at the first execution of each of its functions, as a debugger does.

use std::{
    collections::HashMap,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail};
use nix::{
    libc::PTRACE_EVENT_EXEC,
    sys::{
        ptrace::{self, Options},
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

/// The instruction `int3`, which stops the thread that executes it.
const BREAKPOINT: u8 = 0xcc;

/// A traced program.
struct Tracer {
    /// The address of the binary in memory.
    base: u64,
    /// The first byte of each function, by its address in the binary.
    replaced: HashMap<u64, u8>,
}

/// Runs the program, and calls `executed` with the address of each of these functions when the function is executed for the first time.
/// If the program forks, the new process may report the same function again. When the program ends, this process ends with the same exit
/// code. When this process ends, the kernel kills the program.
///
/// # Errors
/// The program cannot be traced, or a signal ended it.
pub(super) fn run(
    program: &Path,
    arguments: &[String],
    functions: &[u64],
    mut executed: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let process = start(program, arguments)?;
    kill(process, Signal::SIGCONT)?;
    let mut tracer: Option<Tracer> = None;
    loop {
        let status = waitpid(None, Some(WaitPidFlag::__WALL))?;
        let Some(thread) = status.pid() else { continue };
        let signal = match status {
            WaitStatus::Exited(thread, code) if thread == process => std::process::exit(code),
            WaitStatus::Signaled(thread, signal, _) if thread == process => {
                bail!("the program ended with {signal}")
            }
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => continue,
            WaitStatus::PtraceEvent(_, _, PTRACE_EVENT_EXEC) if thread == process && tracer.is_none() => {
                tracer = Some(Tracer::new(program, process, functions)?);
                None
            }
            WaitStatus::Stopped(_, Signal::SIGTRAP) => match &tracer {
                Some(tracer) => match tracer.stopped(thread, &mut executed) {
                    // The thread was killed meanwhile, because the program ends.
                    Err(_) if ptrace::getregs(thread).is_err() => None,
                    signal => signal?,
                },
                None => Some(Signal::SIGTRAP),
            },
            WaitStatus::Stopped(_, signal) => Some(signal),
            _ => None,
        };
        // A thread that was killed meanwhile is reported by the next call of `waitpid`.
        let _ = ptrace::cont(thread, signal);
    }
}

/// Starts the program, stopped and traced.
fn start(program: &Path, arguments: &[String]) -> Result<Pid> {
    // The shell stops itself, so that it can be traced from its start, and then becomes the program.
    let shell = Command::new("sh")
        .args(["-c", "kill -STOP $$; exec \"$@\"", "sh"])
        .arg(program)
        .args(arguments)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let process = Pid::from_raw(i32::try_from(shell.id())?);
    waitpid(process, Some(WaitPidFlag::WUNTRACED))?;
    let seized = ptrace::seize(
        process,
        Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_EXITKILL,
    );
    if seized.is_err() {
        // Without this signal, the shell would stay stopped.
        let _ = kill(process, Signal::SIGKILL);
    }
    seized.with_context(|| format!("cannot trace {}", program.display()))?;
    Ok(process)
}

/// The memory of a process. `thread` is any thread of the process.
fn memory(thread: Pid) -> Result<File> {
    let path = format!("/proc/{thread}/mem");
    File::options().read(true).write(true).open(&path).with_context(|| format!("cannot open {path}"))
}

// === impl Tracer ===

impl Tracer {
    /// Replaces the first byte of each function.
    fn new(program: &Path, process: Pid, functions: &[u64]) -> Result<Self> {
        let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
        let program = program.canonicalize()?;
        let first = maps.lines().find(|line| line.ends_with(&*program.to_string_lossy()));
        let start =
            first.and_then(|line| line.split('-').next()).context("the program is not in its memory")?;
        let base = u64::from_str_radix(start, 16)?;
        let memory = memory(process)?;
        let mut replaced = HashMap::new();
        for address in functions {
            let mut byte = [0];
            memory.read_exact_at(&mut byte, base + address)?;
            memory.write_all_at(&[BREAKPOINT], base + address)?;
            // Two functions may have the same address. For the second one, the byte that was read is the breakpoint.
            replaced.entry(*address).or_insert(byte[0]);
        }
        Ok(Self { base, replaced })
    }

    /// A thread has stopped. Returns the signal to deliver to it.
    fn stopped(&self, thread: Pid, executed: &mut impl FnMut(u64) -> Result<()>) -> Result<Option<Signal>> {
        let mut registers = ptrace::getregs(thread)?;
        // The thread is at the instruction after the breakpoint.
        let address = registers.rip.wrapping_sub(1).wrapping_sub(self.base);
        let Some(byte) = self.replaced.get(&address) else { return Ok(Some(Signal::SIGTRAP)) };
        // The thread may be in a process that the program forked: it has its own memory, with a copy of the breakpoints.
        let memory = memory(thread)?;
        // Another thread may have executed the function at the same time. The original byte is then in memory already.
        let mut now = [0];
        memory.read_exact_at(&mut now, self.base + address)?;
        if now[0] == BREAKPOINT {
            memory.write_all_at(&[*byte], self.base + address)?;
            executed(address)?;
        }
        registers.rip -= 1;
        ptrace::setregs(thread, registers)?;
        Ok(None)
    }
}
