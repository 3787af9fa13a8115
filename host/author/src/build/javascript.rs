//! JavaScript and TypeScript: esbuild makes one module of the sources and of packages from npm, which is put into an engine.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use heck::ToLowerCamelCase as _;
use serde::Deserialize;
use serde_json::json;

use super::step::{Build, BuildError};
use crate::{
    Engine, Existing, Language, TextFile, bindings,
    engine::NODE,
    tool::{self, run},
    wit_world::World,
    write,
};

/// The name under which plugins import the SDK.
const SDK_PACKAGE: &str = "informer-sdk";

/// The module that the component starts with.
const ENTRY: &str = "entry.js";

/// The beginning of the stack that Node.js prints behind an error of the sources.
const STACK_OF_THE_TOOLCHAIN: &str = "\n    at componentize (";

/// The beginning of the names of the interfaces that QuickJS cannot import, because its toolchain does not connect their resources.
const HTTP: &str = "wasi:http/";

/// The report of esbuild about the module that it has made.
#[derive(Deserialize)]
struct Report {
    outputs: BTreeMap<String, Module>,
}

/// The module.
#[derive(Deserialize)]
struct Module {
    imports: Vec<Import>,
    exports: Vec<String>,
}

/// A module that the module imports. It is one of the host, because all others became part of it.
#[derive(Deserialize)]
struct Import {
    path: String,
}

pub(super) fn build(build: &Build<'_>) -> Result<Vec<u8>, BuildError> {
    let engine = build.manifest.engine.unwrap_or_default();
    let source = match build.manifest.language {
        Language::Ts => {
            // A component may use any interface that the host serves, whatever its world imports.
            let mut world = build.world()?;
            world.import_all_of_the_host();
            world.export_optional(|_| true);
            build.bindings(&bindings::typescript(&world, engine))?;
            "src/index.ts"
        }
        _ => "src/index.js",
    };
    NODE.command()?;
    let toolchain = engine.toolchain(build.cache)?;
    let (code, component) = (build.scratch("plugin.js"), build.scratch("plugin.wasm"));
    let module = bundle(build, Command::new(esbuild(&toolchain)), source)?;
    let mut world = build.world()?;
    world.export_optional(|name| module.exports.contains(&name.to_lower_camel_case()));
    Build::check_batches(&world)?;
    Build::check_called(&world, |uncalled| {
        let name = uncalled.interface.to_lower_camel_case();
        module.exports.contains(&name).then(|| format!("{source} exports `{name}`"))
    })?;
    let interfaces: Vec<String> =
        world.exported_interfaces().iter().map(|name| name.to_lower_camel_case()).collect();
    if let Some(missing) = interfaces.iter().find(|name| !module.exports.contains(name)) {
        let (world, exports) = (build.world_name()?, interfaces.join(", "));
        let problem = format!(
            "{source} does not export `{missing}`: the world `{world}` of informer-plugin.toml needs \
             `export const {{ {exports} }} = definePlugin({{ ... }})`"
        );
        return Err(BuildError::Project(problem));
    }
    let imports: Vec<&str> = module.imports.iter().map(|import| import.path.as_str()).collect();
    if engine == Engine::QuickJs && imports.iter().any(|import| import.starts_with(HTTP)) {
        let problem = format!(
            "{source} sends HTTP requests, which QuickJS cannot: write `engine = \"starlingmonkey\"` into informer-plugin.toml"
        );
        return Err(BuildError::Project(problem));
    }
    let (wit, world) = build.narrowed(&world, &imports)?;
    let mut componentize = engine.componentize(&toolchain, (&wit, world), &code, &component)?;
    // The toolchain prints its progress, which is shown only if it fails.
    let output = componentize.output().map_err(|error| tool::io_error(&toolchain, error))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        return Err(BuildError::Project(match said.split_once(engine.before_an_error()) {
            Some((_, error)) => {
                let error = error.split(STACK_OF_THE_TOOLCHAIN).next().unwrap_or(error);
                format!("{source} throws when it is loaded:\n{}", error.trim())
            }
            None => format!("{} failed:\n{}", engine.program(), said.trim()),
        }));
    }
    Build::read(&component)
}

/// The esbuild program for this machine; npm installs only that one. It is run without its start script, because the script adds its own
/// stack trace to each error message.
fn esbuild(toolchain: &Path) -> PathBuf {
    let modules = toolchain.join("node_modules");
    let platforms = modules.join("@esbuild").read_dir().into_iter().flatten().flatten();
    let mut programs = platforms.map(|platform| platform.path().join("bin/esbuild"));
    programs.find(|program| program.is_file()).unwrap_or_else(|| modules.join(".bin/esbuild"))
}

/// A module that exports what the source exports. Its evaluation throws in three cases:
///
/// - An exported interface lacks a function. The engine would notice this fault only when the host calls the function.
/// - The plugin defines a function of an optional interface and does not export the interface.
/// - The plugin defines a function of an interface that the world does not export.
fn entry(source: &str, shown: &str, world: &mut World) -> String {
    let of_the_world = world.exported_interfaces();
    let uncalled = world.uncalled().into_iter();
    let uncalled: BTreeMap<String, String> =
        uncalled.map(|uncalled| (uncalled.interface.to_lower_camel_case(), uncalled.why)).collect();
    world.export_optional(|_| true);
    let interfaces = world.exported_interfaces().into_iter().map(|interface| {
        let functions = world.exported_functions(&interface).into_iter();
        let functions: Vec<String> = functions.map(|function| function.to_lower_camel_case()).collect();
        (interface.to_lower_camel_case(), functions)
    });
    let wanted: BTreeMap<String, Vec<String>> = interfaces.collect();
    let mut optional = wanted.clone();
    optional.retain(|name, _| !of_the_world.contains(name));
    let (source, wanted, optional, uncalled) =
        (json!(source), json!(wanted), json!(optional), json!(uncalled));
    format!(
        "import * as plugin from {source};
export * from {source};
for (const [name, functions] of Object.entries({wanted})) {{
  for (const wanted of plugin[name] ? functions : []) {{
    if (typeof plugin[name][wanted] === \"function\") continue;
    const found = Object.keys(plugin[name]).join(\", \") || \"nothing\";
    throw new TypeError(`{shown}: \\`${{name}}\\` has no function \\`${{wanted}}\\`; it has ${{found}}`);
  }}
}}
for (const [name, functions] of Object.entries({optional})) {{
  if (name in plugin || !plugin.plugin?.defined?.[name]) continue;
  throw new TypeError(`{shown} has \\`${{functions}}\\` and does not export \\`${{name}}\\`, so the host would never call it`);
}}
for (const [name, why] of Object.entries({uncalled})) {{
  const defined = plugin.plugin?.defined?.[name];
  if (defined) throw new TypeError(`{shown} has \\`${{defined.join(\", \")}}\\`, which the host would never call: ${{why}}`);
}}
"
    )
}

/// Makes one module of the sources, the SDK and packages from npm.
fn bundle(build: &Build<'_>, mut esbuild: Command, source: &str) -> Result<Module, BuildError> {
    let path = build.project.join(source);
    let path = path.to_str().ok_or_else(|| {
        let project = build.project.display();
        BuildError::Project(format!(
            "the path {project} is not UTF-8, as modules of JavaScript need: rename the folder"
        ))
    })?;
    let text = entry(path, source, &mut build.world()?);
    write(build.scratch.path(), &[TextFile { path: ENTRY, text: &text }], Existing::Replace)?;
    esbuild.arg(build.scratch(ENTRY));
    esbuild.args([
        "--bundle",
        "--format=esm",
        "--target=es2023",
        "--charset=utf8",
        "--log-level=warning",
        "--external:informer:*",
        "--external:wasi:*",
    ]);
    // A package from npm comes first: the author has chosen its version.
    if !build.project.join("node_modules").join(SDK_PACKAGE).is_dir() {
        esbuild.arg(format!("--alias:{SDK_PACKAGE}={}", build.sdk()?.display()));
    }
    let report = build.scratch("report.json");
    esbuild.arg(format!("--metafile={}", report.display()));
    esbuild.arg(format!("--outfile={}", build.scratch("plugin.js").display())).current_dir(build.project);
    run(&mut esbuild, &format!("esbuild of {source}"))?;
    let report: Option<Report> = serde_json::from_slice(&Build::read(&report)?).ok();
    let module = report.and_then(|report| report.outputs.into_values().next());
    module.ok_or_else(|| BuildError::Project("esbuild has reported no module".to_owned()))
}
