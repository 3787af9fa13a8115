//! The process that compiles one component, or looks up places in one: its limits, and its work.

use std::{
    fs,
    io::{self, ErrorKind, Read, Write},
    os::fd::AsFd,
    process, thread,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Resource, Rlimit, getrlimit, nice, setrlimit},
};

use super::answer::{Answer, TASK_BYTES, Task, Work};
use crate::debug_info;

/// Files that the work may have open: its pipes, and what the standard library reads about the processors.
const FILES: u64 = 16;

/// Priority below the host and its plugins, in steps of `nice`.
const NICE: i32 = 10;

/// Does one piece of work for a host, then returns. The host writes the input to stdin and reads the result from stdout. The input is a
/// component, and the result is its compiled code; or the input is a question about frames of a failed call, and the result is the
/// list of their places in the sources. A host that starts this process with
/// [`Compiler::Child`](crate::Compiler::Child) sends the limits first: the process gives up all other memory, files, processor time
/// and priority before it reads the first byte of the input. It ends at once if the host ends or closes its pipe.
///
/// # Errors
/// stdin is not the request of a host, the limits cannot be set, or stdout is closed. A component that is not valid is an answer
/// and no error.
pub fn compile_on_stdio() -> io::Result<()> {
    let mut request = io::stdin().lock();
    let mut task = [0; TASK_BYTES];
    request.read_exact(&mut task)?;
    let task = Task::decode(task).ok_or_else(|| {
        io::Error::new(
            ErrorKind::InvalidInput,
            "stdin is no request of a host, which alone runs this command",
        )
    })?;
    confine(task)?;
    end_with_the_host()?;
    let mut input = Vec::new();
    request.take(task.input).read_to_end(&mut input)?;
    if input.len() as u64 != task.input {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let answer = match task.work {
        Work::Compile(codegen) => {
            let engine = codegen.engine().map_err(io::Error::other)?;
            Answer::of(engine.precompile_component(&input))
        }
        Work::LookUp => Answer::of_look_up(debug_info::answer(&input)),
    };
    // The standard stream would look for line breaks in the code.
    let mut stdout = fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (head, rest) = answer.encode();
    stdout.write_all(&head)?;
    stdout.write_all(rest)
}

/// Gives up all resources of this process that its work does not need. There is no limit on address space: it would count
/// reservations.
fn confine(task: Task) -> io::Result<()> {
    // If the machine runs out of memory, the kernel ends this process and not the host. Without /proc, the kernel chooses the process by
    // itself.
    fs::write("/proc/self/oom_score_adj", "1000").ok();
    nice(NICE)?;
    let limits = [
        (Resource::Data, task.memory),
        (Resource::Cpu, task.cpu_seconds),
        (Resource::Nofile, FILES),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ];
    for (resource, most) in limits {
        setrlimit(resource, lowered(resource, most, getrlimit(resource).maximum))?;
    }
    Ok(())
}

/// The new limit for a resource. `hard` is the present hard limit, which stays if it is lower.
fn lowered(resource: Resource, most: u64, hard: Option<u64>) -> Rlimit {
    let within = |limit: u64| Some(hard.map_or(limit, |hard| hard.min(limit)));
    // At the soft limit of processor time, the kernel ends the process with SIGXCPU, so the host can report the reason. At the hard
    // limit, the kernel ends the process with SIGKILL, which could also mean that the machine has no memory left.
    let last = if resource == Resource::Cpu { most.saturating_add(1) } else { most };
    Rlimit { current: within(most), maximum: within(last) }
}

/// Ends this process when no process can read its stdout any more. A signal at the death of the parent would come already when
/// the thread that started this process ends.
fn end_with_the_host() -> io::Result<()> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    let watch = move || {
        // Without events, only an error or the end of the pipe is reported.
        while poll(&mut [PollFd::new(&stdout, PollFlags::empty())], None) == Err(rustix::io::Errno::INTR) {}
        process::abort();
    };
    thread::Builder::new().name("host".to_owned()).stack_size(64 << 10).spawn(watch)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signal_for_too_much_processor_time_comes_before_the_kill_and_lower_limits_stay() {
        for (resource, hard, expected) in [
            (Resource::Cpu, None, (5, 6)),
            (Resource::Cpu, Some(100), (5, 6)),
            (Resource::Cpu, Some(3), (3, 3)),
            (Resource::Data, None, (5, 5)),
            (Resource::Data, Some(3), (3, 3)),
        ] {
            let Rlimit { current, maximum } = lowered(resource, 5, hard);

            assert_eq!((current, maximum), (Some(expected.0), Some(expected.1)), "{resource:?} {hard:?}");
        }
    }
}
