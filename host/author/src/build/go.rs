//! Go: the stock compiler gives a core module for WASI preview 1.

use super::step::{Build, BuildError};
use crate::{
    Inspection, bindings, component,
    tool::{Tool, run},
    wit_world::World,
};

const GO: Tool = Tool { program: "go", install: "install Go 1.24 or newer: https://go.dev/dl" };

pub(super) fn build(build: &Build<'_>) -> Result<Vec<u8>, BuildError> {
    let go_mod = String::from_utf8_lossy(&Build::read(&build.project.join("go.mod"))?).into_owned();
    let module =
        module(&go_mod).ok_or_else(|| BuildError::Project("go.mod has no line `module NAME`".to_owned()))?;
    // The SDK contains the bindings of its interfaces. This writes the bindings of the other interfaces.
    build.bindings(&bindings::go(&mut build.world()?, module)?)?;
    let core = build.scratch("core.wasm");
    // -w: Go has no lines for WebAssembly that others can read. The names of functions stay.
    let mut go = GO.command()?;
    go.args(["build", "-buildmode=c-shared", "-trimpath", "-ldflags=-w", "-o"]).arg(&core).arg(".");
    go.env("GOOS", "wasip1").env("GOARCH", "wasm").current_dir(build.project);
    run(&mut go, "`go build`")?;
    let core = Build::read(&core)?;
    // A package of the SDK exports its interface if the plugin imports it. Bytes that are no module are refused below.
    let exports = Inspection::of(&core).map_or_else(|_| Vec::new(), |found| found.exports);
    let is_exported = |name: &str| {
        let interface = format!("informer:plugin/{name}@");
        exports.iter().any(|export| export.starts_with(&interface))
    };
    let mut world = build.world()?;
    world.export_optional(is_exported);
    Build::check_batches(&world)?;
    Build::check_called(&world, |uncalled| {
        let imports = || format!("the plugin imports `{}` of the SDK", package(uncalled.interface));
        is_exported(uncalled.interface).then(imports)
    })?;
    check_exports(&world, is_exported)?;
    world.import_all_of_the_host();
    Ok(component::of_module(core, &world)?)
}

/// Refuses a module without the handlers of its world.
fn check_exports(world: &World, is_exported: impl Fn(&str) -> bool) -> Result<(), BuildError> {
    let Some(missing) = world.called().into_iter().find(|name| !is_exported(name)) else { return Ok(()) };
    let (world, package) = (world.name(), package(missing));
    Err(BuildError::Project(format!(
        "the plugin does not import `{package}` of the SDK: the world `{world}` of informer-plugin.toml exports `{missing}`, so import \
         the package and call its `Register`, or choose another world"
    )))
}

/// The package of the SDK that exports an interface.
fn package(interface: &str) -> String {
    if interface == "timer-handler" { "timer".to_owned() } else { interface.replace('-', "") }
}

/// The name of the module that a `go.mod` declares. It may be quoted, and a comment may follow.
fn module(go_mod: &str) -> Option<&str> {
    let mut lines = go_mod.lines().map(str::split_whitespace);
    let name =
        lines.find_map(|mut words| if words.next() == Some("module") { words.next() } else { None })?;
    Some(name.trim_matches(['"', '`']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_module_is_found_as_go_finds_it() {
        for line in
            ["module a.b/c", "module\ta.b/c // Deprecated: use d", "module \"a.b/c\"", "  module `a.b/c`  "]
        {
            assert_eq!(module(&format!("// The module.\n{line}\n\ngo 1.24\n")), Some("a.b/c"), "{line}");
        }
        assert_eq!(module("go 1.24\n"), None);
    }
}
