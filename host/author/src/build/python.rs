//! Python: componentize-py puts the modules, the SDK and CPython into a component.

use std::{
    collections::BTreeMap,
    fs, iter,
    path::{Path, PathBuf},
};

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use serde::Deserialize;
use serde_json::json;

use super::step::{Build, BuildError, sources};
use crate::{
    Existing, TextFile,
    tool::{self, PYTHON, run, wheels, with_wheels},
    wit_world::World,
    write,
};

const REQUIREMENTS: &str = include_str!("../../../../plugins/sdk/python/requirements.txt");

/// The folder of the sources, and the package of the SDK.
const FOLDER: &str = "src";
const SDK_PACKAGE: &str = "informer_sdk";

/// The module with the classes that the world exports: the author's module `app`, and the modules of the SDK, which cannot be imported
/// when the component runs.
const MODULE: &str = "built_by_informer";
const MODULE_FILE: &str = "built_by_informer.py";
const ENTRY: &str = "import app as _app

_uncalled = __UNCALLED__
for _found in list(vars(_app).values()):
    getattr(type(_found), \"_check_called\", lambda *_: ())(_found, _uncalled)
    getattr(type(_found), \"_check_exports\", lambda *_: ())(_found, [_c for _c in __CLASSES__ if hasattr(_app, _c)])
for _function, (_class, _why) in _uncalled.items():
    if hasattr(vars(_app).get(_class), _function):
        raise TypeError(f\"the class `{_class}` has `{_function}`, which the host would never call: {_why}\")
for _class in __CLASSES__:
    if not hasattr(_app, _class):
        raise TypeError(f\"src/app.py has no `{_class}`: \" + __NEEDS__)
globals().update({k: v for k, v in vars(_app).items() if k[0] != \"_\"})\n";

const COMPONENTIZE: &str = "import sys, componentize_py; sys.exit(componentize_py.script())";

/// The parts of the SDK that the sources use, as the module `_used` of the SDK reports them.
#[derive(Deserialize)]
struct Used {
    /// Modules of the SDK.
    modules: Vec<String>,
    /// Interfaces of the host. `None` means the interfaces of the world.
    interfaces: Option<Vec<String>>,
    /// The names of the module `app`.
    #[serde(default)]
    exports: Vec<String>,
}

pub(super) fn build(build: &Build<'_>) -> Result<Vec<u8>, BuildError> {
    let wheels = wheels(build.cache, "componentize-py", REQUIREMENTS)?;
    let (sdk, copy, component) = (build.sdk()?, build.scratch("src"), build.scratch("plugin.wasm"));
    // The build imports the modules, and Python writes byte code beside them. So the build gets a copy.
    copied(&build.project.join(FOLDER), &copy)?;
    let used = used(build, &sdk, &copy)?;
    copied(&sdk.join(SDK_PACKAGE), &copy.join(SDK_PACKAGE))?;
    let mut world = build.world()?;
    world.export_optional(|name| used.exports.contains(&name.to_upper_camel_case()));
    Build::check_batches(&world)?;
    let entry = entry(&used.modules, &world);
    write(&copy, &[TextFile { path: MODULE_FILE, text: &entry }], Existing::Replace)?;
    let interfaces = used.interfaces.unwrap_or_else(|| world.imported_interfaces());
    let interfaces: Vec<&str> = interfaces.iter().map(String::as_str).collect();
    let (wit, world) = build.narrowed(&world, &interfaces)?;
    let mut python = PYTHON.command()?;
    with_wheels(&mut python, wheels.as_os_str()).args(["-c", COMPONENTIZE, "--quiet", "--wit-path"]);
    python.arg(wit).args(["--world", world, "componentize", "--python-path"]);
    python.arg(&copy).arg("--output").arg(&component).arg(MODULE).current_dir(build.scratch.path());
    run(&mut python, "componentize-py")?;
    Build::read(&component)
}

/// The text of the module with the exports. Its evaluation raises if the author has registered a function that the host would never call.
fn entry(modules: &[String], world: &World) -> String {
    let imports = modules.iter().map(|module| format!("import {SDK_PACKAGE}.{module}\n"));
    // Maps each function to the class of its interface and to the reason why the host does not call the function.
    let uncalled = world.uncalled().into_iter().flat_map(|uncalled| {
        let because = (uncalled.interface.to_upper_camel_case(), uncalled.why);
        uncalled.functions.iter().map(move |function| (function.to_snake_case(), because.clone()))
    });
    let uncalled: BTreeMap<String, (String, String)> = uncalled.collect();
    let called = world.called().into_iter().map(|interface| interface.to_upper_camel_case());
    let classes: Vec<String> = iter::once("Plugin".to_owned()).chain(called).collect();
    let of_app: Vec<String> = classes.iter().map(|class| format!("app.{class}")).collect();
    let (names, values) = (classes.join(", "), of_app.join(", "));
    let needs = format!(
        "the world `{}` of informer-plugin.toml needs `{names} = {values}`; write this line, or choose another world",
        world.name()
    );
    let text =
        [("__UNCALLED__", json!(uncalled)), ("__CLASSES__", json!(classes)), ("__NEEDS__", json!(needs))]
            .into_iter()
            // The JSON of texts and of arrays is an expression of Python.
            .fold(ENTRY.to_owned(), |text, (word, value)| text.replace(word, &value.to_string()));
    imports.collect::<String>() + &text
}

/// Copies the Python files below a folder.
fn copied(folder: &Path, to: &Path) -> Result<(), BuildError> {
    for source in sources(folder, "py")? {
        let copy: PathBuf = to.join(source.strip_prefix(folder).unwrap_or(&source));
        let copied = copy.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(&source, &copy));
        copied.map_err(|error| tool::io_error(&source, error))?;
    }
    Ok(())
}

/// The parts of the SDK that the sources use. Python imports modules of the folder that it runs in before its own, so it runs in a folder
/// without modules of the author: a module of the author may have the name of a module of Python.
fn used(build: &Build<'_>, sdk: &Path, folder: &Path) -> Result<Used, BuildError> {
    let mut python = PYTHON.command()?;
    // `-B`: no byte code in the folder of the author.
    python.args(["-B", "-m", "informer_sdk._used"]).arg(folder).env("PYTHONPATH", sdk);
    python.current_dir(build.scratch.path());
    let output = python.output().map_err(|error| tool::io_error(folder, error))?;
    let printed = output.status.success().then(|| serde_json::from_slice(&output.stdout).ok()).flatten();
    printed.ok_or_else(|| {
        let problem = String::from_utf8_lossy(&output.stderr);
        BuildError::Project(format!("the SDK in {} cannot be used:\n{}", sdk.display(), problem.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WitVersion;

    #[test]
    fn the_module_with_the_exports_has_the_functions_that_are_never_called() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &WitVersion::NEWEST.files(), Existing::Refuse).unwrap();
        let world = World::read(folder.path(), "controller").unwrap();

        let text = entry(&["lister".to_owned()], &world);

        assert!(text.starts_with("import informer_sdk.lister\nimport app as _app\n"), "{text}");
        let line = text.lines().find(|line| line.starts_with("_uncalled = ")).unwrap();
        for function in ["on_add", "on_update", "on_delete"] {
            let beginning =
                format!(r#""{function}":["Handler","the world `controller` of informer-plugin.toml"#);
            assert!(line.contains(&beginning), "{line}");
        }
        assert!(!line.contains("\"reconcile\":"), "{line}");
        assert!(text.contains("for _class in [\"Plugin\",\"Reconciler\"]:"), "{text}");
        assert!(text.contains("needs `Plugin, Reconciler = app.Plugin, app.Reconciler`"), "{text}");
        // With `from handlers import *`, the module also has optional classes that the component does not export.
        let exported = "(_found, [_c for _c in [\"Plugin\",\"Reconciler\"] if hasattr(_app, _c)])";
        assert!(text.contains(exported), "{text}");
    }
}
