//! Programs that some suites need besides Rust.

use std::{
    fs::File,
    process::{Command, Stdio},
};

use crate::command::{Run, Step, root};

/// A program that a suite needs on the search path.
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    /// The argument with which the program prints its version.
    pub(crate) version: &'static str,
    pub(crate) install: &'static str,
}

/// Builds the programs of Kubernetes.
pub(crate) const GO: Tool =
    Tool { program: "go", version: "version", install: "install Go 1.26 or newer from https://go.dev/dl" };

// === impl Tool ===

impl Tool {
    /// Returns true if all tools of a suite run. Otherwise it prints which one does not.
    ///
    /// # Errors
    /// A tool is missing, and `CI` is set.
    pub(crate) fn all_run(tools: &[Self], suite: &str) -> Result<bool, String> {
        let Some(Self { program, install, .. }) = tools.iter().find(|tool| !tool.runs()) else {
            return Ok(true);
        };
        let problem = format!("the suite `{suite}` needs `{program}`, which does not run: {install}");
        if in_ci() {
            return Err(problem);
        }
        println!("==> SKIPPED: {problem}");
        Ok(false)
    }

    /// Installs a Debian package if a tool is missing, `CI` is set and this is root. Other machines are left as they are.
    ///
    /// # Errors
    /// The package cannot be installed.
    pub(crate) fn install_in_ci(tools: &[Self], package: &str) -> Result<(), String> {
        if !in_ci() || tools.iter().all(Self::runs) || Run::new("id", &["-u"]).output()?.trim() != "0" {
            return Ok(());
        }
        // apt-get fails while another apt-get runs, for example for a suite beside this one. The lock is released with the handle.
        let lock = File::open(root()).and_then(|directory| directory.lock().map(|()| directory));
        let _lock = lock.map_err(|error| format!("{} cannot be locked: {error}", root().display()))?;
        let step = |what: &str| Step::new(format!("{what} for the Debian package {package}"));
        Run::new("apt-get", &["update", "--quiet"]).run(&step("read the lists of packages"))?;
        let install = ["install", "--quiet", "--yes", "--no-install-recommends", package];
        Run::new("apt-get", &install)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .run(&step("install everything"))
    }

    pub(crate) fn runs(&self) -> bool {
        let mut command = Command::new(self.program);
        let silent =
            command.arg(self.version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        silent.status().is_ok_and(|status| status.success())
    }
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false")
}
