//! Compilers and their toolchains: programs on the search path, and packages that are pinned and kept in a cache.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, stderr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use sha2::{Digest, Sha256};

/// A program that does not run, or fails.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The program is not on the search path.
    #[error("`{program}` is missing: {install}")]
    Missing {
        /// The name of the program.
        program: &'static str,
        /// How to install it.
        install: &'static str,
    },
    /// The program ran and failed. It has printed why.
    #[error("{what} failed; its output is above")]
    Failed {
        /// The task of the program.
        what: String,
    },
    /// No variable names the user's folder for toolchains.
    #[error("there is no folder for toolchains: set HOME or XDG_CACHE_HOME to an absolute path")]
    NoCache,
    /// The system refuses.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// A program on the search path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    pub(crate) install: &'static str,
}

/// A folder for toolchains, which all projects of the user share. `None` if the user has no folder of that kind.
#[derive(Clone, Debug)]
pub struct Cache(Option<PathBuf>);

// === impl Tool ===

impl Tool {
    /// A run of the program.
    ///
    /// # Errors
    /// [`ToolError::Missing`] if the program is not on the search path.
    pub(crate) fn command(self) -> Result<Command, ToolError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&path).any(|folder| folder.join(self.program).is_file());
        let Self { program, install } = self;
        if found { Ok(Command::new(program)) } else { Err(ToolError::Missing { program, install }) }
    }
}

/// Runs a program to its end. Its output goes to stderr, because stdout is for the result of the command.
///
/// # Errors
/// The program does not start, or fails.
pub(crate) fn run(command: &mut Command, what: &str) -> Result<(), ToolError> {
    // A backtrace of the compiler is no help for the author of a plugin.
    let command = command.env("RUST_BACKTRACE", "0").stdin(Stdio::null()).stdout(stderr());
    let status = command.status().map_err(|source| io_error(Path::new(command.get_program()), source))?;
    if status.success() { Ok(()) } else { Err(ToolError::Failed { what: what.to_owned() }) }
}

/// The SHA-256 of some bytes in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn io_error(path: &Path, source: io::Error) -> ToolError {
    ToolError::Io { path: path.to_owned(), source }
}

// === impl Cache ===

impl Cache {
    /// The folder `informer` in the user's cache: `$XDG_CACHE_HOME` or `~/.cache`. If the user has neither, there is no cache: another user
    /// could put programs into a folder for temporary files.
    #[must_use]
    pub fn of_user() -> Self {
        Self::of(|name| env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        Self(cache.map(|cache| cache.join("informer")))
    }

    /// The path of a folder below the cache. The folder need not exist.
    ///
    /// # Errors
    /// [`ToolError::NoCache`] if the user has no cache.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, ToolError> {
        self.0.as_ref().map(|folder| folder.join(name)).ok_or(ToolError::NoCache)
    }

    /// The folder of a toolchain that is pinned by these files. If it does not exist, `install` fills a folder beside it, which is
    /// renamed when it is complete: a broken download never becomes the toolchain.
    ///
    /// # Errors
    /// The user has no cache, the system refuses, or `install` fails.
    pub(crate) fn toolchain(
        &self,
        kind: &str,
        pins: &[&str],
        install: impl FnOnce(&Path) -> Result<(), ToolError>,
    ) -> Result<PathBuf, ToolError> {
        let mut hash = Sha256::new();
        for pin in pins {
            hash.update(pin.len().to_le_bytes());
            hash.update(pin);
        }
        let digest: String = digits(&hash.finalize()).chars().take(16).collect();
        let folder = self.folder(kind)?;
        let complete = folder.join(&digest);
        if complete.is_dir() {
            return Ok(complete);
        }
        fs::create_dir_all(&folder).map_err(|error| io_error(&folder, error))?;
        let staging = tempfile::Builder::new().prefix(&digest).tempdir_in(&folder);
        let staging = staging.map_err(|error| io_error(&folder, error))?;
        install(staging.path())?;
        let installed = staging.keep();
        match fs::rename(&installed, &complete) {
            Ok(()) => Ok(complete),
            // Another build has installed the same toolchain meanwhile.
            Err(_) if complete.is_dir() => {
                let _ = fs::remove_dir_all(&installed);
                Ok(complete)
            }
            Err(error) => Err(io_error(&complete, error)),
        }
    }
}

/// Python, which runs toolchains that come as wheels.
pub(crate) const PYTHON: Tool =
    Tool { program: "python3", install: "install Python 3.9 or newer, with pip: https://www.python.org" };

/// Installs the pinned wheels of a file of requirements.
///
/// # Errors
/// Python or pip is missing, or the package index does not answer.
pub(crate) fn wheels(cache: &Cache, kind: &str, requirements: &str) -> Result<PathBuf, ToolError> {
    cache.toolchain(kind, &[requirements], |folder| {
        let list = folder.join("requirements.txt");
        fs::write(&list, requirements).map_err(|error| io_error(&list, error))?;
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
        let mut command = PYTHON.command()?;
        command.args(pip).args(["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement"]);
        // Python also imports modules of the folder that it runs in, and a module of the author may have the name of a module of pip.
        command.arg(&list).arg("--target").arg(folder).current_dir(folder);
        run(&mut command, "the installation of a toolchain by pip, which needs PyPI once,")
    })
}

/// Adds a folder of wheels to a run of Python.
pub(crate) fn with_wheels<'a>(command: &'a mut Command, wheels: &OsStr) -> &'a mut Command {
    command.env("PYTHONPATH", wheels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_are_kept_in_folders_of_the_user_only() {
        let cache = |variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(found, _)| *found == name);
                found.map(|(_, value)| OsString::from(value))
            };
            Cache::of(variable).folder("npm")
        };

        assert_eq!(cache(&[("HOME", "/home/a")]).unwrap(), Path::new("/home/a/.cache/informer/npm"));
        let both = [("HOME", "/home/a"), ("XDG_CACHE_HOME", "/c")];
        assert_eq!(cache(&both).unwrap(), Path::new("/c/informer/npm"));
        let unusable: [&[(&str, &str)]; 3] =
            [&[], &[("HOME", "")], &[("HOME", "."), ("XDG_CACHE_HOME", "c")]];
        for variables in unusable {
            let refused = cache(variables).unwrap_err();
            assert!(refused.to_string().contains("set HOME or XDG_CACHE_HOME"), "{refused}");
        }
    }
}
