//! The pictures of the README, as SVG: `cargo xtask pictures`.

mod idea;
mod svg;
mod terminal;

use std::fs;

use crate::{
    command::{Run, Step, cargo, root, target_dir},
    guests,
};

/// The folder of the pictures, from the root of the repository.
const FOLDER: &str = "host/docs";

/// Draws both pictures; the one of the demo from what the demo prints. With `--check` it writes nothing.
///
/// # Errors
/// The demo fails, a file cannot be written, or with `--check` a picture is out of date.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let keep = match arguments {
        [] => write,
        [flag] if flag == "--check" => check,
        _ => return Err(format!("pictures takes `--check` or nothing, not `{}`", arguments.join(" "))),
    };
    keep("idea.svg", &idea::draw())?;
    keep("demo.svg", &terminal::draw("cargo xtask demo --once", &demo()?))
}

/// Runs the demo once and returns its lines without the address of the API server, which differs each time.
fn demo() -> Result<Vec<String>, String> {
    let component = guests::build_example()?;
    cargo(&["build", "--workspace", "--exclude", "informer-bench", "--bin", "informer"])
        .run(&Step::new("build the host"))?;
    let host = target_dir().join("debug/informer").to_string_lossy().into_owned();
    let output = Run::new(&host, &["demo", "--once", "--component", &component]).output()?;
    Ok(output.lines().filter(|line| !line.contains("http://")).map(str::to_owned).collect())
}

fn write(name: &str, picture: &str) -> Result<(), String> {
    let path = root().join(FOLDER).join(name);
    fs::write(&path, picture).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("    {FOLDER}/{name}");
    Ok(())
}

fn check(name: &str, picture: &str) -> Result<(), String> {
    let path = root().join(FOLDER).join(name);
    let found =
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if found != picture {
        return Err(format!("{FOLDER}/{name} is out of date: run `cargo xtask pictures`"));
    }
    println!("    {FOLDER}/{name} is up to date");
    Ok(())
}
