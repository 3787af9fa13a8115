//! Python: componentize-py puts the modules and CPython into a component.

use std::fs;

use super::step::{Build, BuildError, sources};
use crate::tool::{self, PYTHON, run, wheels, with_wheels};

const REQUIREMENTS: &str = include_str!("../../../../plugins/sdk/python/requirements.txt");

/// The folder of the sources, and the module with the classes that the world exports.
const FOLDER: &str = "src";
const MODULE: &str = "app";

const COMPONENTIZE: &str = "import sys, componentize_py; sys.exit(componentize_py.script())";

pub(super) fn build(build: &Build<'_>) -> Result<Vec<u8>, BuildError> {
    let wheels = wheels(build.cache, "componentize-py", REQUIREMENTS)?;
    let (folder, copy, component) =
        (build.project.join(FOLDER), build.scratch("src"), build.scratch("plugin.wasm"));
    // The build imports the modules, and Python writes byte code beside them: it gets a copy.
    for source in sources(&folder, "py")? {
        let to = copy.join(source.strip_prefix(&folder).unwrap_or(&source));
        let copied = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(&source, &to));
        copied.map_err(|error| tool::io_error(&source, error))?;
    }
    let mut python = PYTHON.command()?;
    with_wheels(&mut python, wheels.as_os_str()).args(["-c", COMPONENTIZE, "--quiet", "--wit-path"]);
    python.arg(build.wit()).args(["--world", build.world_name()?, "componentize", "--python-path"]);
    python.arg(&copy).arg("--output").arg(&component).arg(MODULE);
    run(&mut python, "componentize-py")?;
    Build::read(&component)
}
