//! Runs other programs, and prints a line before each and its time afterwards.

use std::{
    env,
    io::{self, Write},
    panic::resume_unwind,
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread::scope,
    time::Instant,
};

/// The purpose of a command in a few words.
pub(crate) struct Step(String);

/// A program to run in the root of the workspace.
pub(crate) struct Run(Command);

impl Step {
    pub(crate) fn new(purpose: impl Into<String>) -> Self {
        Self(purpose.into())
    }
}

impl Run {
    pub(crate) fn new(program: &str, arguments: &[&str]) -> Self {
        Self::of(Command::new(program), arguments)
    }

    fn of(mut command: Command, arguments: &[&str]) -> Self {
        command.args(arguments).current_dir(root());
        Self(command)
    }

    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.0.env(key, value);
        self
    }

    /// Runs the program to its end, with the input and output of this process.
    ///
    /// # Errors
    /// The program cannot be started, or its status is not 0.
    pub(crate) fn run(mut self, step: &Step) -> Result<(), String> {
        println!("==> {}", step.0);
        let started = Instant::now();
        let status = self.0.status().map_err(|error| self.not_started(&error))?;
        if !status.success() {
            return Err(format!("`{}` failed ({status}): {}", step.0, self.line()));
        }
        println!("    {} took {:.1} s", step.0, started.elapsed().as_secs_f64());
        Ok(())
    }

    /// Runs the program to its end beside others, and prints its output when it has ended.
    ///
    /// # Errors
    /// As for [`Run::run`].
    pub(crate) fn run_beside(mut self, step: &Step) -> Result<(), String> {
        println!("==> {}, beside others", step.0);
        let started = Instant::now();
        let output = self.0.output().map_err(|error| self.not_started(&error))?;
        // One lock for all of it, so that outputs do not mix.
        let mut stdout = io::stdout().lock();
        let printed = [format!("==> {}\n", step.0).as_bytes(), &output.stderr, &output.stdout].concat();
        // If stdout is closed, no reader misses the output.
        stdout.write_all(&printed).ok();
        if !output.status.success() {
            return Err(format!("`{}` failed ({}): {}", step.0, output.status, self.line()));
        }
        writeln!(stdout, "    {} took {:.1} s", step.0, started.elapsed().as_secs_f64()).ok();
        Ok(())
    }

    /// Runs the program to its end and returns what it printed to stdout.
    ///
    /// # Errors
    /// The program cannot be started, or its status is not 0. The message contains what it printed to stderr.
    pub(crate) fn output(mut self) -> Result<String, String> {
        let output = self.0.output().map_err(|error| self.not_started(&error))?;
        if !output.status.success() {
            return Err(format!("`{}` failed: {}", self.line(), String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs the program to its end and returns what it printed to stderr.
    ///
    /// # Errors
    /// The program cannot be started, or its status is not 0. The message contains the end of what it printed to stderr.
    pub(crate) fn report(mut self) -> Result<String, String> {
        let output = self.0.output().map_err(|error| self.not_started(&error))?;
        let report = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            let lines: Vec<&str> = report.lines().collect();
            let end = lines.get(lines.len().saturating_sub(60)..).unwrap_or_default().join("\n");
            return Err(format!("`{}` failed:\n{end}", self.line()));
        }
        Ok(report)
    }

    /// The command as typed in a shell, without changes of the environment.
    fn line(&self) -> String {
        let words = std::iter::once(self.0.get_program()).chain(self.0.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    fn not_started(&self, error: &io::Error) -> String {
        format!("cannot start `{}`: {error}", self.0.get_program().to_string_lossy())
    }
}

/// Does the work for each item, at most `at_once` at a time, in the order of the items.
///
/// # Errors
/// The errors of all items, one a line. An error does not stop the work for the others.
pub(crate) fn for_each<T: Sync>(
    items: &[T],
    at_once: usize,
    work: impl Fn(&T) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let rest = std::iter::from_fn(|| items.get(next.fetch_add(1, Ordering::Relaxed)));
        rest.filter_map(|item| work(item).err()).collect::<Vec<_>>()
    };
    let problems: Vec<String> = scope(|scope| {
        let lanes: Vec<_> = (0..at_once.min(items.len())).map(|_| scope.spawn(lane)).collect();
        let ended = lanes.into_iter().map(|lane| lane.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.flatten().collect()
    });
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// The cargo that runs this process.
pub(crate) fn cargo(arguments: &[&str]) -> Run {
    Run::of(informer_guests::cargo(), arguments)
}

/// The root of the workspace, from the variable that cargo sets at run time. So a program that was compiled in another clone does not work
/// on that clone.
pub(crate) fn root() -> PathBuf {
    let own = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(own).join("../..")
}

/// The directory that cargo builds into.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |set| root().join(set))
}
