//! Real registries, built from the Go modules in `tests/registries`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use informer_programs::{Builder, Program};

use crate::cluster::Process;

/// How long a registry may take until it listens.
const LISTENS_WITHIN: Duration = Duration::from_secs(60);

/// What a registry writes to its log before its address.
const LISTENING: &str = "listening on ";

/// The line of an htpasswd file for the user `me` with the password `secret`.
const PASSWORD_FILE: &str = "me:$2a$05$ZALDpgUi952QkZB6KYA1I.QrVCiV0qaHJbLIJYViZpPSEMmi1iEem\n";

/// A kind of registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The registry of go-containerregistry, which keeps lists of referrers.
    WithLists,
    /// The registry of the distribution project, which has no such lists.
    Plain,
    /// The same over TLS, with this certificate and this key, and for the user `me` with the password `secret` only.
    Guarded {
        /// A PEM file.
        certificate: PathBuf,
        /// A PEM file.
        key: PathBuf,
    },
}

/// A running registry on a loopback port. Dropping it kills the process and removes its directory.
#[derive(Debug)]
pub struct Registry {
    process: Process,
    address: String,
    directory: TempDir,
}

// === impl Registry ===

impl Registry {
    /// Starts an empty registry, and waits until it listens. Builds the program first if it is not in the cache.
    ///
    /// # Errors
    /// The program is not available, ended early, or does not listen in time.
    pub async fn start(kind: Kind) -> Result<Self> {
        let program =
            if kind == Kind::WithLists { Program::RegistryWithLists } else { Program::PlainRegistry };
        let path = spawn_blocking(move || Builder::from_env()?.obtain(program)).await??;
        let directory = tempfile::Builder::new().prefix("informer-registry-").tempdir()?;
        let arguments = arguments(&kind, directory.path())?;
        let log = directory.path().join("log");
        let process = Process::spawn(program.name(), &path, &arguments, log)?;
        let mut registry = Self { process, address: String::new(), directory };
        registry.address = registry.listens().await?;
        Ok(registry)
    }

    /// Host and port, as references name it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.address
    }

    async fn listens(&mut self) -> Result<String> {
        let deadline = Instant::now() + LISTENS_WITHIN;
        while Instant::now() < deadline {
            self.process.check_running()?;
            let log = fs::read_to_string(self.directory.path().join("log")).context("read the log")?;
            let address = log.lines().find_map(|line| line.split_once(LISTENING)).map(|(_, rest)| rest);
            let is_address = |character: &char| character.is_ascii_digit() || ".:".contains(*character);
            if let Some(address) = address {
                return Ok(address.chars().take_while(is_address).collect());
            }
            sleep(Duration::from_millis(20)).await;
        }
        bail!("the registry does not listen\n{}", self.process.log_tail())
    }
}

/// The arguments of the program, and the files that they name.
fn arguments(kind: &Kind, directory: &Path) -> Result<Vec<String>> {
    let guard = match kind {
        Kind::WithLists => return Ok(Vec::new()),
        Kind::Plain => String::new(),
        Kind::Guarded { certificate, key } => {
            let passwords = directory.join("passwords");
            fs::write(&passwords, PASSWORD_FILE)?;
            format!(
                "  tls: {{certificate: {}, key: {}}}\nauth:\n  htpasswd: {{realm: tests, path: {}}}\n",
                certificate.display(),
                key.display(),
                passwords.display()
            )
        }
    };
    let file = directory.join("config.yml");
    let text = format!(
        "version: 0.1\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp:\n  addr: 127.0.0.1:0\n{guard}",
        directory.join("data").display()
    );
    fs::write(&file, text)?;
    Ok(vec!["serve".to_owned(), file.display().to_string()])
}
