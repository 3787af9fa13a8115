//! The Go programs of the suites, built behind everything else.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use crate::{
    command::{Step, cargo, target_dir},
    tool::GO,
};

/// Builds the programs with the processor time that nothing else wants, until it is dropped.
///
/// If a program is still missing, the suite that needs it builds it with a normal priority, from the packages that are compiled by
/// then. If this build fails, the suite fails with the reason.
pub(crate) struct Programs(Option<Child>);

// === impl Programs ===

impl Programs {
    /// Begins to build, if there is a Go.
    ///
    /// # Errors
    /// The program `informer-programs`, which builds the others, cannot be built.
    pub(crate) fn begin() -> Result<Self, String> {
        if !GO.runs() {
            return Ok(Self(None));
        }
        // All members: dependencies are then built once, with the features that the tests need.
        cargo(&["build", "--workspace", "--exclude", "informer-bench", "--bin", "informer-programs"])
            .run(&Step::new("build what builds the programs of the suites"))?;
        let begun = Command::new("chrt")
            .args(["--idle", "0"])
            .arg(target_dir().join("debug/informer-programs"))
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn();
        match begun {
            Ok(child) => Ok(Self(Some(child))),
            Err(error) => {
                println!("    each suite builds its own programs, because `chrt` does not start: {error}");
                Ok(Self(None))
            }
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // `wait` closes the input of the child, and then the child ends itself and the `go` that it runs.
            child.wait().ok();
        }
    }
}
