//! The order of functions in the binary: `cargo xtask function-order`.

use crate::{
    bench,
    command::root,
    image::{self, Built, FUNCTION_ORDER},
};

/// Builds the host as in the image, runs the ready-made plugins in it, and writes which functions it executes.
///
/// # Errors
/// There are arguments, the machine is not supported, or a build or the run fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("function-order takes no arguments, not `{}`", arguments.join(" ")));
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("function-order needs Linux on x86-64".to_owned());
    }
    let Built { binary, map } = image::build()?;
    let (map, output) = (map.display().to_string(), root().join(FUNCTION_ORDER).display().to_string());
    bench::load("function-order", &binary, &["--map".to_owned(), map, "--output".to_owned(), output])
}
