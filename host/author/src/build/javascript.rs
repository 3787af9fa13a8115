//! JavaScript and TypeScript: esbuild makes one module of the sources and of packages from npm, and componentize-qjs puts it into
//! QuickJS.

use std::{collections::BTreeMap, path::PathBuf, process::Command};

use serde::Deserialize;

use super::step::{Build, BuildError};
use crate::{
    Language, bindings,
    tool::{self, Tool, ToolError, run},
};

const NODE: Tool = Tool { program: "node", install: "install Node.js 18 or newer: https://nodejs.org" };
const NPM: Tool = Tool { program: "npm", install: "it comes with Node.js, or as a package of its own" };

/// The name under which plugins import the SDK.
const SDK_PACKAGE: &str = "informer-sdk";

const PACKAGE: &str = include_str!("../../../../plugins/sdk/javascript/package.json");
const LOCK: &str = include_str!("../../../../plugins/sdk/javascript/package-lock.json");

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
    let source = match build.manifest.language {
        Language::Ts => {
            build.bindings(&bindings::typescript(&build.world()?))?;
            "src/index.ts"
        }
        _ => "src/index.js",
    };
    NODE.command()?;
    let toolchain = toolchain(build)?;
    let (code, component) = (build.scratch("plugin.js"), build.scratch("plugin.wasm"));
    let module = bundle(build, Command::new(toolchain.join("node_modules/.bin/esbuild")), source)?;
    let world = build.world()?;
    let interfaces = world.exported_interfaces();
    if let Some(missing) = interfaces.iter().find(|name| !module.exports.contains(name)) {
        let (world, exports) = (build.world_name()?, interfaces.join(", "));
        let problem = format!(
            "{source} does not export `{missing}`: the world `{world}` of informer-plugin.toml needs \
             `export const {{ {exports} }} = definePlugin({{ ... }})`"
        );
        return Err(BuildError::Project(problem));
    }
    let imports: Vec<&str> = module.imports.iter().map(|import| import.path.as_str()).collect();
    let (wit, world) = build.narrowed(&world, &imports)?;
    let mut componentize = Command::new(toolchain.join("node_modules/.bin/componentize-qjs"));
    // --sync: the host supports the synchronous ABI only.
    componentize.arg("--wit").arg(wit).args(["--world", world, "--sync", "--js"]);
    componentize.arg(&code).arg("--module-root").arg(build.scratch.path()).arg("--output").arg(&component);
    // It reports its progress, which is of no interest unless it fails.
    let output = componentize.output().map_err(|error| tool::io_error(&toolchain, error))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let problem = format!("componentize-qjs failed:\n{}", String::from_utf8_lossy(&said).trim());
        return Err(BuildError::Project(problem));
    }
    Build::read(&component)
}

/// Makes one module of the sources, the SDK and packages from npm.
fn bundle(build: &Build<'_>, mut esbuild: Command, source: &str) -> Result<Module, BuildError> {
    esbuild.args([
        source,
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

/// The pinned packages, which are those of `plugins/sdk/javascript`.
fn toolchain(build: &Build<'_>) -> Result<PathBuf, ToolError> {
    build.cache.toolchain("npm", &[PACKAGE, LOCK], |folder| {
        for (name, text) in [("package.json", PACKAGE), ("package-lock.json", LOCK)] {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| tool::io_error(&path, error))?;
        }
        let mut npm = NPM.command()?;
        npm.args(["ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(folder);
        run(&mut npm, "the installation of the toolchain by npm, which needs its registry once,")
    })
}
