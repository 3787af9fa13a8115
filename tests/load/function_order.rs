//! Finds the functions that a running host executes, and writes their order for the linker.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod tracer {
    use std::path::Path;

    /// # Errors
    /// Always: this machine has no tracer.
    pub(super) fn run(
        program: &Path,
        _arguments: &[String],
        _functions: &[u64],
        _executed: impl FnMut(u64) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        anyhow::bail!("{} can be traced on Linux on x86-64 only", program.display())
    }
}

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufRead, BufReader, Write as _},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use informer_guests::ready_made;
use informer_image::function_order::{functions, script};
use informer_tests::{
    cluster::{Options, RealCluster, User},
    daemon::Daemon,
    ready_made::fragments,
};
use tempfile::TempDir;

use crate::ready_made as load;

/// If a host executes fewer functions than this number, it has not run.
const LEAST: usize = 1000;

/// Runs the ready-made plugins with few objects, and writes the functions that the host executes.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The binary of the host, as in the image.
    #[arg(long)]
    program: PathBuf,
    /// The linker's map of the binary.
    #[arg(long)]
    map: PathBuf,
    /// The file to write.
    #[arg(long)]
    output: PathBuf,
}

/// Runs the program, and writes the address of each function at its first execution. Ends with the exit code of the program.
#[derive(Debug, clap::Args)]
pub(crate) struct Trace {
    #[arg(long)]
    map: PathBuf,
    /// The directory that gets a file of addresses for each run.
    #[arg(long)]
    directory: PathBuf,
    program: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Writes the order of functions.
///
/// # Errors
/// The map has no functions, or a program fails.
pub(crate) async fn write(arguments: &Arguments) -> Result<()> {
    let functions = functions(&read(&arguments.map)?);
    ensure!(!functions.is_empty(), "{} is no map of LLD", arguments.map.display());
    let directory = TempDir::new()?;
    let traces = directory.path().join("traces");
    fs::create_dir(&traces)?;
    let wrapper = directory.path().join("informer");
    let [program, map] = [&arguments.program, &arguments.map].map(|path| path.canonicalize());
    let (program, map, trace) = (program?, map?, std::env::current_exe()?);
    let [trace, map, into, program] = [&trace, &map, &traces, &program].map(|path| quoted(path));
    let text = format!("#!/bin/sh\nexec {trace} trace --map {map} --directory {into} {program} \"$@\"\n");
    fs::write(&wrapper, text)?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
    eprintln!("the host runs under a tracer: memory and times in the table are those of the tracer");
    load::report(&load::Arguments::few(wrapper.clone())).await?;
    connect(&wrapper, directory.path()).await?;
    let executed = executed(&traces)?;
    ensure!(executed.len() >= LEAST, "the host executed {} functions; it has not run", executed.len());
    fs::write(&arguments.output, script(&functions, &executed))
        .with_context(|| format!("cannot write {}", arguments.output.display()))
}

/// A path as one word of `sh`.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Runs a host with TLS and a kubeconfig until the host is idle. The load uses neither TLS nor a kubeconfig.
async fn connect(program: &Path, directory: &Path) -> Result<()> {
    let cluster = RealCluster::start(Options::default()).await?;
    let kubeconfig = directory.join("kubeconfig");
    fs::write(&kubeconfig, cluster.kubeconfig(User::Admin))?;
    let configuration = directory.join("informer.toml");
    let state = Daemon::state(&directory.join("state"));
    let plugins = fragments(&["reloader"], ready_made, |_, text| text)?;
    fs::write(&configuration, format!("[cluster]\nkubeconfig = {kubeconfig:?}\n[host]\n{state}{plugins}"))?;
    let host = Daemon::start(program, &configuration, &directory.join("host.log")).await;
    host.compiled(&["reloader"]).await;
    host.idle().await;
    host.kill().await;
    cluster.shutdown().await
}

/// Runs the program, and ends with its exit code.
///
/// # Errors
/// The program cannot be traced, or a signal ended it.
pub(crate) fn trace(trace: &Trace) -> Result<()> {
    let addresses: Vec<u64> = functions(&read(&trace.map)?).iter().map(|function| function.address).collect();
    let path = trace.directory.join(std::process::id().to_string());
    let mut file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    // The file has no buffer, because the host and this process are killed at the end.
    tracer::run(&trace.program, &trace.arguments, &addresses, |address| Ok(writeln!(file, "{address}")?))
}

fn read(map: &Path) -> Result<String> {
    fs::read_to_string(map).with_context(|| format!("cannot read {}", map.display()))
}

/// The addresses in all traces, each once. The addresses of the trace that was completed first come first.
fn executed(directory: &Path) -> Result<Vec<u64>> {
    let mut traces: Vec<PathBuf> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    traces.sort_by_key(|trace| fs::metadata(trace).and_then(|trace| trace.modified()).ok());
    let (mut known, mut executed) = (HashSet::new(), Vec::new());
    for trace in traces {
        for line in BufReader::new(File::open(trace)?).lines() {
            let address = line?.parse()?;
            if known.insert(address) {
                executed.push(address);
            }
        }
    }
    Ok(executed)
}
