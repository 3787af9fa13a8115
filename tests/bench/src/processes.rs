//! The processes that a measurement starts: the server of the benchmark and other programs.

use std::{path::Path, process::Stdio};

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{collection::Recipe, server::Greeting};

/// A running server of generated objects. It ends when its standard input ends: when this is dropped, or when this process ends.
pub(crate) struct Server {
    _child: Child,
}

// === impl Server ===

impl Server {
    /// Starts the server, which is a program in this directory, and waits until it answers.
    ///
    /// # Errors
    /// The server cannot be started, or it ends before it answers.
    pub(crate) async fn start(programs: &Path, recipe: Recipe) -> Result<(Self, Greeting)> {
        let mut command = program(programs, "informer-bench");
        command
            .arg("serve")
            .args(["--kind".to_owned(), recipe.kind.to_string()])
            .args(["--objects".to_owned(), recipe.objects.to_string()])
            .args(["--page-size".to_owned(), recipe.page_size.to_string()])
            .args(["--seed".to_owned(), recipe.seed.to_string()])
            .args(recipe.churn.then_some("--churn"));
        let (child, mut lines) = start(command, Stdio::piped())?;
        let line = lines.next_line().await?.context("the server ended before it answered")?;
        let greeting = serde_json::from_str(&line).with_context(|| format!("the server printed `{line}`"))?;
        Ok((Self { _child: child }, greeting))
    }
}

/// The program of this name in a directory.
pub(crate) fn program(directory: &Path, name: &str) -> Command {
    Command::new(directory.join(name).with_extension(std::env::consts::EXE_EXTENSION))
}

/// Starts a program, and returns the process and the lines of its standard output. The process is killed when it is dropped.
///
/// # Errors
/// The program does not start.
pub(crate) fn start(mut command: Command, input: Stdio) -> Result<(Child, Lines<BufReader<ChildStdout>>)> {
    command.stdin(input).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", command.as_std().get_program().to_string_lossy()))?;
    let output = child.stdout.take().context("the process has no standard output")?;
    Ok((child, BufReader::new(output).lines()))
}
