//! C: clang of a WASI SDK or zig gives a core module for WASI preview 1.

use std::{env, path::Path, process::Command};

use heck::ToSnakeCase as _;

use super::step::{BINDINGS, Build, BuildError, sources};
use crate::{
    bindings, component,
    tool::{PYTHON, Tool, ToolError, run, wheels, with_wheels},
    wit_world::World,
};

const ZIG: Tool = Tool { program: "zig", install: "" };

/// The functions of a plugin that answer with `informer_result`, after `informer_`.
const HANDLERS: [&str; 7] =
    ["on_add", "on_update", "on_delete", "reconcile", "on_synced", "on_timer", "on_config"];

/// Zig, which has a C compiler and a C library for WASI, as a wheel.
const REQUIREMENTS: &str = include_str!("../../../../plugins/sdk/c/requirements.txt");

pub(super) fn build(build: &Build<'_>) -> Result<Vec<u8>, BuildError> {
    let mut world = build.world()?;
    check_handlers(build)?;
    world.import_all_of_the_host();
    export_what_is_defined(build, &mut world)?;
    let sdk = build.sdk()?;
    let generated = build.bindings(&bindings::c(&mut world)?)?;
    let core = build.scratch("core.wasm");
    let mut compiler = compiler(build)?;
    // The default of zig is a stack of 16 MiB, which counts towards the memory of each instance.
    compiler.args(["-Os", "-Wall", "-mexec-model=reactor", "-Wl,-z,stack-size=131072", "-g"]);
    compiler.args(["-I", BINDINGS, "-I"]).arg(&sdk).arg("-o").arg(&core);
    for folder in [&build.project.join("src"), &generated, &sdk] {
        compiler.args(sources(folder, "c")?);
    }
    run(compiler.current_dir(build.project), "the C compiler")?;
    Ok(component::of_module(Build::read(&core)?, &world)?)
}

/// Refuses a function that looks like a handler and is not one. The host would never call it, and the compiler does not report it.
fn check_handlers(build: &Build<'_>) -> Result<(), BuildError> {
    for source in sources(&build.project.join("src"), "c")? {
        let text = Build::read(&source)?;
        let text = String::from_utf8_lossy(&text);
        let defined = text.lines().filter_map(|line| line.strip_prefix("informer_result informer_"));
        let mut names = defined.filter_map(|rest| Some(rest.split_once('(')?.0.trim_end()));
        if let Some(name) = names.find(|name| !HANDLERS.contains(name)) {
            let source = source.strip_prefix(build.project).unwrap_or(&source).display();
            let problem = format!(
                "{source} defines `informer_{name}`, which the host does not call: it calls informer_{}",
                HANDLERS.join(", informer_")
            );
            return Err(BuildError::Project(problem));
        }
    }
    Ok(())
}

/// Adds the optional exports whose functions are in the sources.
fn export_what_is_defined(build: &Build<'_>, world: &mut World) -> Result<(), BuildError> {
    let mut all = build.world()?;
    all.export_optional(|_| true);
    let mut texts = Vec::new();
    for source in sources(&build.project.join("src"), "c")? {
        texts.push(String::from_utf8_lossy(&Build::read(&source)?).into_owned());
    }
    world.export_optional(|interface| {
        all.exported_functions(interface).into_iter().any(|function| {
            let name = format!("informer_{}", function.to_snake_case());
            let is_followed = |text: &String| {
                let mut rests = text.match_indices(&name).map(|(at, _)| text.get(at + name.len()..));
                rests.any(|rest| rest.is_some_and(|rest| rest.trim_start().starts_with('(')))
            };
            texts.iter().any(is_followed)
        })
    });
    Ok(())
}

/// The compiler: that of `$WASI_SDK_PATH`, zig on the search path, or the pinned zig from PyPI, which is downloaded once.
fn compiler(build: &Build<'_>) -> Result<Command, BuildError> {
    if let Some(sdk) = env::var_os("WASI_SDK_PATH").filter(|path| !path.is_empty()) {
        let mut clang = Command::new(Path::new(&sdk).join("bin/clang"));
        clang.arg("--target=wasm32-wasip1");
        return Ok(clang);
    }
    let mut zig = match ZIG.command() {
        Ok(zig) => zig,
        Err(_) => {
            let wheels = wheels(build.cache, "zig", REQUIREMENTS).map_err(missing)?;
            let mut zig = PYTHON.command().map_err(missing)?;
            with_wheels(&mut zig, wheels.as_os_str()).args(["-m", "ziglang"]);
            zig
        }
    };
    // Zig compiles its C library once, and keeps it.
    zig.env("ZIG_GLOBAL_CACHE_DIR", build.cache.folder("zig-cache")?)
        .env("ZIG_LOCAL_CACHE_DIR", build.scratch("zig"));
    zig.args(["cc", "-target", "wasm32-wasi"]);
    Ok(zig)
}

/// Without Python there is no zig from PyPI either.
fn missing(error: ToolError) -> ToolError {
    match error {
        ToolError::Missing { .. } => ToolError::Missing {
            program: "zig",
            install: "install zig (https://ziglang.org/download), or a WASI SDK and set WASI_SDK_PATH, or Python 3.9 with pip, \
                      which brings zig",
        },
        other => other,
    }
}
