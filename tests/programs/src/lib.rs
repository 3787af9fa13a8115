//! The Go programs that suites run beside the host: the parts of a real cluster, kubectl, Helm, promtool, registries,
//! cosign, a collector of OpenTelemetry, the oracle, and a subject of the benchmark. Each is built once from the Go modules in
//! `tests/bench`, `tests/cluster`, `tests/deploy`, `tests/e2e` and `tests/registries`, and kept in the user's cache.
#![forbid(unsafe_code)]

mod program;

use std::{
    env,
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

pub use program::Program;

/// How many last lines of a failed build are shown.
const LINES_SHOWN: usize = 30;

/// The directory of programs that are built ahead, in the directory of the programs.
const AHEAD: &str = ".ahead";

/// Why a program of the real cluster is not available.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The program is not in the cache, and no Go can build it.
    #[error("{program} is not built yet and Go cannot build it: {reason}; install Go 1.26 or newer")]
    NoGo {
        /// The program.
        program: &'static str,
        /// The output of `go`, or why it did not run.
        reason: String,
    },
    /// Go failed to build the program.
    #[error("go build of {program} failed:\n{output}")]
    Build {
        /// The program.
        program: &'static str,
        /// The end of the output of `go build`.
        output: String,
    },
    /// The cache is not usable.
    #[error("the cache of built programs is not usable: {path}")]
    Cache {
        /// The file or directory with the problem.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// No environment variable names the cache directory.
    #[error(
        "none of INFORMER_CACHE, XDG_CACHE_HOME and HOME is set: there is no place to keep built programs"
    )]
    NoCache,
}

/// A Go toolchain, and the directory that keeps the programs that it built.
#[derive(Clone, Debug)]
pub struct Builder {
    go: OsString,
    directory: PathBuf,
}

// === impl Builder ===

impl Builder {
    /// Uses the `go` of the search path and `bin` in the project's cache directory.
    ///
    /// # Errors
    /// [`Unavailable::NoCache`] if the environment names no cache directory.
    pub fn from_env() -> Result<Self, Unavailable> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = set("INFORMER_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|path| path.join("informer")))
            .or_else(|| set("HOME").map(|path| path.join(".cache/informer")))
            .ok_or(Unavailable::NoCache)?;
        Ok(Self { go: "go".into(), directory: cache.join("bin") })
    }

    #[cfg(test)]
    fn new(go: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        Self { go: go.into(), directory: directory.into() }
    }

    /// Returns the program. It builds the program if it is not in the cache, which blocks for minutes.
    ///
    /// If there are several callers, in this process or in others, one builds and the others wait.
    ///
    /// # Errors
    /// Go is missing or too old, the build failed, or the cache is not usable.
    pub fn obtain(&self, program: Program) -> Result<PathBuf, Unavailable> {
        let path = self.path(program)?;
        if path.is_file() {
            return Ok(path);
        }
        self.check_go(program)?;
        let unusable = |source| Unavailable::Cache { path: self.directory.clone(), source };
        fs::create_dir_all(&self.directory).map_err(unusable)?;
        // The directory is its own lock file. The lock is released with the handle.
        let lock = File::open(&self.directory).map_err(unusable)?;
        lock.lock().map_err(unusable)?;
        if !path.is_file() {
            self.build(program, &self.directory.join(".partial"), &path)?;
        }
        Ok(path)
    }

    /// Builds the program if it is not in the cache, for later callers of [`Self::obtain`]. Such a caller does not wait for this
    /// build, which may have a lower priority. The caller builds the program itself, from the packages that Go has compiled so far.
    ///
    /// If another process builds ahead, this method builds nothing.
    ///
    /// # Errors
    /// As for [`Self::obtain`].
    pub fn build_ahead(&self, program: Program) -> Result<(), Unavailable> {
        let path = self.path(program)?;
        if path.is_file() {
            return Ok(());
        }
        self.check_go(program)?;
        let ahead = self.directory.join(AHEAD);
        let unusable = |source| Unavailable::Cache { path: ahead.clone(), source };
        fs::create_dir_all(&ahead).map_err(unusable)?;
        // As in `obtain`, the directory is its own lock file.
        let lock = File::open(&ahead).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => self.build(program, &ahead.join("partial"), &path),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    fn path(&self, program: Program) -> Result<PathBuf, Unavailable> {
        let name =
            program.file_name().map_err(|source| Unavailable::Cache { path: program.module(), source })?;
        Ok(self.directory.join(name))
    }

    /// Loading the module makes `go` compare its own version with the version that `go.mod` requires.
    fn check_go(&self, program: Program) -> Result<(), Unavailable> {
        let reason = match self.go(program).args(["list", "-m"]).output() {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => last_lines(&output),
            Err(error) => format!("{} does not run ({error})", Path::new(&self.go).display()),
        };
        Err(Unavailable::NoGo { program: program.name(), reason })
    }

    fn build(&self, program: Program, partial: &Path, path: &Path) -> Result<(), Unavailable> {
        say(&format!("building {} {}, once for this machine", program.name(), program.version()));
        // The file is renamed when it is complete, so a killed build leaves no incomplete program. The holder of the
        // lock may overwrite the temporary file.
        let output = self
            .go(program)
            .arg("build")
            .arg("-o")
            .arg(partial)
            .args(program.build_arguments())
            .output()
            .map_err(|source| Unavailable::Cache { path: PathBuf::from(&self.go), source })?;
        if !output.status.success() {
            return Err(Unavailable::Build { program: program.name(), output: last_lines(&output) });
        }
        fs::rename(partial, path).map_err(|source| Unavailable::Cache { path: path.to_owned(), source })
    }

    fn go(&self, program: Program) -> Command {
        let mut go = Command::new(&self.go);
        go.current_dir(program.module())
            // Without C, the result depends on no compiler and no libc of this machine.
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .env_remove("GOOS")
            .env_remove("GOARCH")
            .stdin(Stdio::null());
        go
    }
}

/// The real kubectl of the API server's release. Builds it first if it is not in the cache.
///
/// Blocks while Go builds it, which takes a few minutes once on each machine. In async code use `spawn_blocking`.
///
/// # Errors
/// Go is missing or too old, the build failed, or the cache is not usable.
pub fn kubectl() -> Result<PathBuf, Unavailable> {
    Builder::from_env()?.obtain(Program::Kubectl)
}

/// The real helm. Builds it first if it is not in the cache. Blocks like [`kubectl()`].
///
/// # Errors
/// The same as [`kubectl()`].
pub fn helm() -> Result<PathBuf, Unavailable> {
    Builder::from_env()?.obtain(Program::Helm)
}

/// The program that runs client-go's shared informers and prints what they do (`tests/cluster/oracle`). Builds it first
/// if it is not in the cache. Blocks like [`kubectl()`].
///
/// # Errors
/// The same as [`kubectl()`].
pub fn oracle() -> Result<PathBuf, Unavailable> {
    Builder::from_env()?.obtain(Program::Oracle)
}

/// The subject of the benchmark that runs client-go's shared informers (`tests/bench/client-go`). Builds it first if it is not
/// in the cache. Blocks like [`kubectl()`].
///
/// # Errors
/// The same as [`kubectl()`].
pub fn client_go() -> Result<PathBuf, Unavailable> {
    Builder::from_env()?.obtain(Program::ClientGo)
}

/// The real promtool. Builds it first if it is not in the cache. Blocks like [`kubectl()`].
///
/// # Errors
/// The same as [`kubectl()`].
pub fn promtool() -> Result<PathBuf, Unavailable> {
    Builder::from_env()?.obtain(Program::Promtool)
}

/// The real cosign. Builds it first if it is not in the cache. Blocks like [`kubectl()`].
///
/// # Errors
/// The same as [`kubectl()`].
pub fn cosign() -> Result<PathBuf, Unavailable> {
    Builder::from_env()?.obtain(Program::Cosign)
}

/// Writes a line to the terminal, also while the test harness captures output.
fn say(line: &str) {
    // There is no way to report that standard error is closed.
    let _ = writeln!(io::stderr(), "==> {line}");
}

fn last_lines(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines.get(lines.len().saturating_sub(LINES_SHOWN)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests;
