//! `informer compile`: the process that compiles one component for a host. It is not for people, so the help does not list it.

use informer_runtime::compile_on_stdio;

pub(super) const EXAMPLES: &str =
    "The host starts this command for each component that it compiles, and `informer check` does too.";

/// Compiles the component on stdin to stdout. Returns true.
///
/// # Errors
/// stdin is not the request of a host.
pub(super) fn run() -> anyhow::Result<bool> {
    compile_on_stdio()?;
    Ok(true)
}
