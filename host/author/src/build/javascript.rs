//! JavaScript and TypeScript: esbuild makes one module of the sources and of packages from npm, and componentize-qjs puts it into
//! QuickJS.

use std::path::PathBuf;

use super::step::{Build, BuildError};
use crate::{
    Language, bindings,
    tool::{self, Tool, ToolError, run},
};

const NODE: Tool = Tool { program: "node", install: "install Node.js 18 or newer: https://nodejs.org" };
const NPM: Tool = Tool { program: "npm", install: "it comes with Node.js, or as a package of its own" };

const PACKAGE: &str = include_str!("../../../../plugins/sdk/javascript/package.json");
const LOCK: &str = include_str!("../../../../plugins/sdk/javascript/package-lock.json");

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
    let program = |name: &str| std::process::Command::new(toolchain.join("node_modules/.bin").join(name));
    let (module, component) = (build.scratch("plugin.js"), build.scratch("plugin.wasm"));
    let mut esbuild = program("esbuild");
    esbuild.args([
        source,
        "--bundle",
        "--format=esm",
        "--target=es2023",
        "--charset=utf8",
        "--log-level=warning",
    ]);
    esbuild.args(["--external:informer:*", "--external:wasi:*"]);
    esbuild.arg(format!("--outfile={}", module.display())).current_dir(build.project);
    run(&mut esbuild, &format!("esbuild of {source}"))?;
    let mut componentize = program("componentize-qjs");
    // --sync: the host supports the synchronous ABI only.
    componentize.arg("--wit").arg(build.wit()).args(["--world", build.world_name()?, "--sync", "--js"]);
    componentize.arg(&module).arg("--module-root").arg(build.scratch.path()).arg("--output").arg(&component);
    // It reports its progress, which is of no interest unless it fails.
    let output = componentize.output().map_err(|error| tool::io_error(&toolchain, error))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let problem = format!("componentize-qjs failed:\n{}", String::from_utf8_lossy(&said).trim());
        return Err(BuildError::Project(problem));
    }
    Build::read(&component)
}

/// The pinned packages, which are those of `plugins/sdk/javascript`.
fn toolchain(build: &Build<'_>) -> Result<PathBuf, ToolError> {
    build.cache.toolchain("npm", &[PACKAGE, LOCK], |folder| {
        for (name, text) in [("package.json", PACKAGE), ("package-lock.json", LOCK)] {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| tool::io_error(&path, error))?;
        }
        let mut npm = NPM.command()?;
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(folder);
        run(&mut npm, "the installation of the toolchain by npm, which needs its registry once,")
    })
}
