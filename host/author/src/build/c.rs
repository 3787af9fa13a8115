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
    let texts = texts(build)?;
    check_names(&texts)?;
    export_what_is_defined(build, &mut world, &texts)?;
    check_called(&world, &texts)?;
    world.import_all_of_the_host();
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

/// The sources of the plugin: the path of each source in the project, and its text without comments.
fn texts(build: &Build<'_>) -> Result<Vec<(String, String)>, BuildError> {
    let mut texts = Vec::new();
    for source in sources(&build.project.join("src"), "c")? {
        let text = without_comments(&String::from_utf8_lossy(&Build::read(&source)?));
        let path = source.strip_prefix(build.project).unwrap_or(&source);
        texts.push((path.display().to_string(), text));
    }
    Ok(texts)
}

/// Removes the comments of a C text, because a function in a comment is not defined.
fn without_comments(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['/', '"', '\'']) {
        let (before, found) = rest.split_at(at);
        kept.push_str(before);
        let end = if found.starts_with("//") {
            found.find('\n').unwrap_or(found.len())
        } else if let Some(comment) = found.strip_prefix("/*") {
            kept.push(' ');
            comment.find("*/").map_or(found.len(), |end| end + "/**/".len())
        } else {
            let end = literal_end(found);
            kept.push_str(found.get(..end).unwrap_or_default());
            end
        };
        rest = found.get(end..).unwrap_or_default();
    }
    kept + rest
}

/// The length of the string or the character at the beginning of a text. A slash that begins no comment has the length 1.
fn literal_end(text: &str) -> usize {
    let mut chars = text.char_indices();
    let quote = chars.next().map(|(_, quote)| quote);
    if quote == Some('/') {
        return 1;
    }
    while let Some((at, found)) = chars.next() {
        match found {
            '\\' => {
                chars.next();
            }
            // A literal ends with its line at the latest: an apostrophe may also be a part of a number.
            '\n' => return at,
            _ if Some(found) == quote => return at + found.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Refuses a function that looks like a handler and is not one. The host would never call it, and the compiler does not report it.
fn check_names(texts: &[(String, String)]) -> Result<(), BuildError> {
    for (source, text) in texts {
        let defined = text.lines().filter_map(|line| line.strip_prefix("informer_result informer_"));
        let mut names = defined.filter_map(|rest| Some(rest.split_once('(')?.0.trim_end()));
        if let Some(name) = names.find(|name| !HANDLERS.contains(name)) {
            let problem = format!(
                "{source} defines `informer_{name}`, which the host does not call: it calls informer_{}",
                HANDLERS.join(", informer_")
            );
            return Err(BuildError::Project(problem));
        }
    }
    Ok(())
}

/// Refuses a handler of an interface that the world does not export. The SDK would not call the function.
fn check_called(world: &World, texts: &[(String, String)]) -> Result<(), BuildError> {
    Build::check_called(world, |uncalled| {
        let mut names =
            uncalled.functions.iter().map(|function| format!("informer_{}", function.to_snake_case()));
        names.find_map(|name| {
            let (source, _) = texts.iter().find(|(_, text)| defines(text, &name))?;
            Some(format!("{source} defines `{name}`"))
        })
    })
}

/// Returns true if a text defines or declares a handler with this name. A call of the handler is no definition.
fn defines(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().trim_end();
        let is_typed = before.ends_with("informer_result") || before.ends_with("void");
        is_typed && is_followed(text, at + name.len())
    })
}

/// Returns true if the name that ends at this offset names a function: parameters or arguments follow.
fn is_followed(text: &str, end: usize) -> bool {
    text.get(end..).is_some_and(|rest| rest.trim_start().starts_with('('))
}

/// Adds the optional exports whose functions are in the sources.
fn export_what_is_defined(
    build: &Build<'_>,
    world: &mut World,
    texts: &[(String, String)],
) -> Result<(), BuildError> {
    let mut all = build.world()?;
    all.export_optional(|_| true);
    world.export_optional(|interface| {
        all.exported_functions(interface).into_iter().any(|function| {
            let name = format!("informer_{}", function.to_snake_case());
            let is_in =
                |text: &str| text.match_indices(&name).any(|(at, _)| is_followed(text, at + name.len()));
            texts.iter().any(|(_, text)| is_in(text))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_is_found_by_its_definition_and_not_by_its_call() {
        for (text, expected) in [
            ("informer_result informer_reconcile(const char *key) {\n", true),
            ("informer_result\ninformer_reconcile (const char *key)\n{\n", true),
            ("static informer_result again(void) {\n    return informer_reconcile(\"a\");\n}\n", false),
            ("informer_result informer_reconciled(void) {\n", false),
            ("// informer_reconcile is the name of a handler\n", false),
            ("// informer_result informer_reconcile(const char *key) {\n", false),
            ("/* Later:\ninformer_result informer_reconcile(const char *key) {}\n*/\n", false),
            ("/**/ informer_result /* of */ informer_reconcile(const char *key) {\n", true),
            ("char *url = \"https://a/*\"; informer_result informer_reconcile(const char *key) {\n", true),
            ("char quote = '\"'; // \"\ninformer_result informer_reconcile(const char *key) {\n", true),
            ("char *text = \"\\\"//\"; informer_result informer_reconcile(const char *key) {\n", true),
            ("int count = 1'000;\n// informer_result informer_reconcile(const char *key) {\n", false),
            ("int half = 1 / 2; informer_result informer_reconcile(const char *key) {\n", true),
            ("informer_result informer_reconcile(const char *key) {} /* not closed", true),
        ] {
            assert_eq!(defines(&without_comments(text), "informer_reconcile"), expected, "{text}");
        }
        assert_eq!(without_comments("a /* b */ c // d\n'//' \"/*\" e/f"), "a   c \n'//' \"/*\" e/f");
        assert!(defines("void informer_on_batch(size_t count) {}", "informer_on_batch"));
    }
}
