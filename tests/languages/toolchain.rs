//! What a test does where an example cannot be built.

use std::{
    env,
    io::{self, Write},
    process::{Command, Stdio},
};

/// The test cannot run on this machine and ends here; the reason is printed already.
#[derive(Debug)]
#[must_use = "a test that goes on fails for a reason that is not its own"]
pub(crate) struct Skip(());

/// That these programs run. Where one does not, the reason is printed past the test harness's capture; on a build
/// machine (`CI` is set, and not to `false`) nothing may be skipped, and it is a failure.
pub(crate) fn require(programs: &[&str]) -> Result<(), Skip> {
    let Some(missing) = programs.iter().find(|program| !runs(program)) else { return Ok(()) };
    let reason = format!("{missing} is not installed here");
    let build_machine = env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false");
    assert!(!build_machine, "nothing may be skipped under CI: {reason}");
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr(), "==> SKIPPED: {reason}");
    Err(Skip(()))
}

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    let status =
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
