//! The engines of JavaScript: the pinned packages of each, and how its toolchain is called.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use crate::tool::{self, Cache, Tool, ToolError, run};

pub(crate) const NODE: Tool =
    Tool { program: "node", install: "install Node.js 18 or newer: https://nodejs.org" };
pub(crate) const NPM: Tool =
    Tool { program: "npm", install: "it comes with Node.js, or as a package of its own" };

/// The engine that runs a plugin in JavaScript or TypeScript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// A small interpreter. It has no bindings for `wasi:http`.
    #[default]
    QuickJs,
    /// The engine of Firefox, with more of what browsers have. Its components have 13 MB.
    StarlingMonkey,
}

// === impl Engine ===

impl Engine {
    /// All engines.
    pub const ALL: [Self; 2] = [Self::QuickJs, Self::StarlingMonkey];

    /// The word for the engine on the command line and in `informer-plugin.toml`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::QuickJs => "quickjs",
            Self::StarlingMonkey => "starlingmonkey",
        }
    }

    /// The program that makes components.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::QuickJs => "componentize-qjs",
            Self::StarlingMonkey => "componentize-js",
        }
    }

    /// What the program prints before an error of the sources.
    pub(crate) fn before_an_error(self) -> &'static str {
        match self {
            Self::QuickJs => "Failed to finish JavaScript module evaluation: ",
            Self::StarlingMonkey => "Exception while evaluating top-level script\n",
        }
    }

    fn pins(self) -> [&'static str; 2] {
        match self {
            Self::QuickJs => [
                include_str!("../../../plugins/sdk/javascript/package.json"),
                include_str!("../../../plugins/sdk/javascript/package-lock.json"),
            ],
            Self::StarlingMonkey => [
                include_str!("../../../plugins/sdk/javascript/starlingmonkey/package.json"),
                include_str!("../../../plugins/sdk/javascript/starlingmonkey/package-lock.json"),
            ],
        }
    }

    /// The folder of the pinned packages, which npm installs once.
    pub(crate) fn toolchain(self, cache: &Cache) -> Result<PathBuf, ToolError> {
        let pins = self.pins();
        cache.toolchain("npm", &pins, |folder| {
            for (name, text) in ["package.json", "package-lock.json"].into_iter().zip(pins) {
                let path = folder.join(name);
                std::fs::write(&path, text).map_err(|error| tool::io_error(&path, error))?;
            }
            let mut npm = NPM.command()?;
            npm.args([
                "ci",
                "--include=dev",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
            ]);
            run(
                npm.current_dir(folder),
                "the installation of the toolchain by npm, which needs its registry once,",
            )
        })
    }

    /// A run that makes a component of a module, for a world in a folder of WIT files.
    pub(crate) fn componentize(
        self,
        toolchain: &Path,
        (wit, world): (&Path, &str),
        module: &Path,
        component: &Path,
    ) -> Result<Command, ToolError> {
        match self {
            Self::QuickJs => {
                let mut program = Command::new(toolchain.join("node_modules/.bin/componentize-qjs"));
                // --sync: the host supports the synchronous ABI only.
                program.arg("--wit").arg(wit).args(["--world", world, "--sync", "--js"]).arg(module);
                program.arg("--module-root").arg(module.parent().unwrap_or(module));
                program.arg("--output").arg(component);
                Ok(program)
            }
            Self::StarlingMonkey => {
                let mut program = NODE.command()?;
                program.arg(toolchain.join("node_modules/@bytecodealliance/componentize-js/src/cli.js"));
                program.arg(module).arg("--wit").arg(wit).args(["--world-name", world]);
                // `fetch` of the engine would make every component import `wasi:http`, which needs a grant.
                program.args(["--disable", "http", "--disable", "fetch-event", "--out"]).arg(component);
                Ok(program)
            }
        }
    }
}
