//! A project that `informer new` writes, with caches of its own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use informer_tests::dev::commands_after_new;
use tokio::process::Command;

/// The way to build a component.
#[derive(Debug)]
pub(crate) struct Toolchain {
    /// Its row of the table, and the name of its project.
    pub(crate) name: &'static str,
    /// The value of `--lang`.
    language: &'static str,
    /// The engine of JavaScript, if it is not the one that `informer new` chooses.
    engine: Option<&'static str>,
    /// The file with the handlers.
    source: &'static str,
}

/// The rows of the table.
pub(crate) const TOOLCHAINS: [Toolchain; 7] = [
    Toolchain { name: "rust", language: "rust", engine: None, source: "src/lib.rs" },
    Toolchain { name: "js", language: "js", engine: None, source: "src/index.js" },
    Toolchain { name: "ts", language: "ts", engine: None, source: "src/index.ts" },
    Toolchain {
        name: "ts-starlingmonkey",
        language: "ts",
        engine: Some("starlingmonkey"),
        source: "src/index.ts",
    },
    Toolchain { name: "python", language: "python", engine: None, source: "src/app.py" },
    Toolchain { name: "go", language: "go", engine: None, source: "main.go" },
    Toolchain { name: "c", language: "c", engine: None, source: "src/plugin.c" },
];

/// A project in a folder outside the repository.
pub(crate) struct Project {
    /// The name of the plugin.
    pub(crate) name: &'static str,
    program: PathBuf,
    folder: PathBuf,
    /// Holds the caches of the compilers, the package managers and the host.
    caches: PathBuf,
    source: &'static str,
    /// The commands from an empty folder to a running handler, as `informer new` prints them.
    pub(crate) commands: usize,
}

// === impl Project ===

impl Project {
    /// Runs `informer new` in the folder `scratch`.
    ///
    /// # Errors
    /// The command fails.
    pub(crate) async fn new(
        program: &Path,
        sdk: &Path,
        scratch: &Path,
        toolchain: &Toolchain,
    ) -> Result<Self> {
        let Toolchain { name, language, engine, source } = toolchain;
        let caches = scratch.join("caches");
        fs::create_dir(&caches)?;
        let (program, folder) = (program.to_owned(), scratch.to_owned());
        let project = Self { name, program, folder, caches, source, commands: 0 };
        let sdk = sdk.to_str().context("the path of the SDK is not UTF-8")?;
        let engine = engine.map_or(Vec::new(), |engine| vec!["--engine", engine]);
        // The other projects contain their SDK.
        let sdk = if *language == "rust" { vec!["--sdk", sdk] } else { Vec::new() };
        let line = [["new", name, "--lang", language].as_slice(), &sdk, &engine].concat();
        let printed = project.run(&line).await?;
        let commands = 1 + commands_after_new(&printed).len();
        Ok(Self { folder: scratch.join(name), commands, ..project })
    }

    /// Runs `informer build`.
    ///
    /// # Errors
    /// The command fails.
    pub(crate) async fn build(&self) -> Result<()> {
        self.run(&["build"]).await.map(drop)
    }

    /// Replaces each `old` of the source between quotation marks.
    ///
    /// # Errors
    /// The source has no such word.
    pub(crate) fn edit(&self, old: &str, new: &str) -> Result<()> {
        let source = self.folder.join(self.source);
        let text = fs::read_to_string(&source)?;
        let edited = text.replace(&format!("\"{old}\""), &format!("\"{new}\""));
        ensure!(edited != text, "{} has no \"{old}\"", source.display());
        Ok(fs::write(source, edited)?)
    }

    pub(crate) fn component(&self) -> PathBuf {
        self.folder.join(format!("{}.wasm", self.name))
    }

    pub(crate) fn component_bytes(&self) -> Result<u64> {
        Ok(fs::metadata(self.component())?.len())
    }

    /// The configuration that came with the project, with the whole path of the component.
    pub(crate) fn configuration(&self) -> Result<String> {
        let text = fs::read_to_string(self.folder.join("informer.toml"))?;
        let component = format!("\"{}.wasm\"", self.name);
        ensure!(text.contains(&component), "the configuration does not name {component}");
        Ok(text.replace(&component, &format!("{:?}", self.component())))
    }

    /// A command of the host in the folder of the project, with caches of its own.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.folder).kill_on_drop(true);
        for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR"] {
            command.env_remove(flags);
        }
        for (variable, folder) in [
            ("XDG_CACHE_HOME", "cache"),
            ("CARGO_HOME", "cargo"),
            ("GOMODCACHE", "go"),
            ("npm_config_cache", "npm"),
            ("PIP_CACHE_DIR", "pip"),
        ] {
            command.env(variable, self.caches.join(folder));
        }
        // Modules of Go are written without the right to write, so that the folder could not be removed.
        command.env("GOFLAGS", "-modcacherw");
        command
    }

    /// Runs a command to its end. Returns what it printed.
    async fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(arguments).output().await?;
        ensure!(
            output.status.success(),
            "informer {arguments:?} in {}: {}{}",
            self.folder.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }
}
