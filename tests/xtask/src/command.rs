//! Runs other programs, and prints a line before each and its time afterwards.

use std::{path::PathBuf, process::Command, time::Instant};

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

    fn not_started(&self, error: &std::io::Error) -> String {
        format!("cannot start `{}`: {error}", self.0.get_program().to_string_lossy())
    }
}

/// The cargo that runs this process.
pub(crate) fn cargo(arguments: &[&str]) -> Run {
    Run::of(informer_guests::cargo(), arguments)
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The directory that cargo builds into.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |set| root().join(set))
}
