//! What a test does where the real cluster cannot be had.

use std::{env, path::PathBuf};

use super::{
    build::{Builder, Unavailable, say},
    program::Program,
};

/// The test cannot run on this machine and ends here; the reason is printed already.
#[derive(Debug)]
#[must_use = "a test that goes on fails for a reason that is not its own"]
pub struct Skip(());

/// That a real API server and etcd can be started: they are in the cache, or Go can build them.
///
/// # Errors
/// They are not and it cannot. The reason was printed past the test harness's capture: nothing is skipped silently.
///
/// # Panics
/// The same on a build machine (`CI` is set, and not to `false`), where nothing may be skipped.
pub fn require() -> Result<(), Skip> {
    require_all(&[Program::Etcd, Program::KubeApiserver])
}

/// That the real kubectl can be had, as [`require()`] does for the servers.
///
/// # Errors
/// As [`require()`].
///
/// # Panics
/// As [`require()`].
pub fn require_kubectl() -> Result<(), Skip> {
    require_all(&[Program::Kubectl])
}

/// That the real cluster can be had, as [`require()`] does, and client-go to be compared with.
///
/// # Errors
/// As [`require()`].
///
/// # Panics
/// As [`require()`].
pub fn require_oracle() -> Result<(), Skip> {
    require_all(&[Program::Etcd, Program::KubeApiserver, Program::Oracle])
}

/// The program on client-go's shared informers that says what they do (`tests/cluster/oracle`), built now if it is not
/// in the cache. Blocks as [`kubectl()`] does.
///
/// # Errors
/// As [`kubectl()`].
pub fn oracle() -> Result<PathBuf, Unavailable> {
    Builder::from_env()?.obtain(Program::Oracle)
}

/// The real kubectl of the API server's release, built now if it is not in the cache.
///
/// Blocks while Go builds it (a few minutes, once for a machine); asynchronous callers use `spawn_blocking`.
///
/// # Errors
/// Go is missing or too old, the build failed, or the cache is not usable.
pub fn kubectl() -> Result<PathBuf, Unavailable> {
    Builder::from_env()?.obtain(Program::Kubectl)
}

fn require_all(programs: &[Program]) -> Result<(), Skip> {
    let checked =
        Builder::from_env().and_then(|builder| programs.iter().try_for_each(|it| builder.check(*it)));
    let Err(reason) = checked else { return Ok(()) };
    let build_machine = env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false");
    assert!(!build_machine, "nothing may be skipped under CI: {reason}");
    say(&format!("SKIPPED: {reason}"));
    Err(Skip(()))
}
