//! `informer new`: a project for a plugin.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, builder::PossibleValuesParser};
use informer_author::{Engine, Language, Project, WriteError};
use serde_json::json;

use crate::{
    cli::Output,
    commands::output::{print, print_json, shell_word},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer new hello --lang go          handlers in Go, in the folder hello
  informer new hello --lang python --reconciler
  informer new hello --lang js --engine starlingmonkey
  informer new hello --lang rust --sdk ../informer/plugins/sdk/rust

Languages: rust, js (JavaScript), ts (TypeScript), python, go, c.
Engines of JavaScript and TypeScript: quickjs (small, the default), starlingmonkey (with HTTP requests).";

/// `informer new`
#[derive(Clone, Debug, Args)]
pub struct NewArgs {
    /// The name of the plugin, and of the folder that is made.
    pub name: String,
    /// The language of the sources.
    #[arg(long, value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(Language::ALL.map(Language::word)))]
    pub lang: String,
    /// The engine of a plugin in JavaScript or TypeScript. Default: quickjs.
    #[arg(long, value_name = "ENGINE", value_parser = PossibleValuesParser::new(Engine::ALL.map(Engine::word)))]
    pub engine: Option<String>,
    /// The folder of the project. Default: a folder with the name of the plugin.
    #[arg(long, value_name = "PATH")]
    pub directory: Option<PathBuf>,
    /// Write a reconciler, which receives keys, instead of handlers.
    #[arg(long)]
    pub reconciler: bool,
    /// The folder of the SDK for Rust. Default: cargo gets it from the repository of informer.
    #[arg(long, value_name = "PATH")]
    pub sdk: Option<PathBuf>,
}

/// Writes the project. Returns true.
///
/// # Errors
/// The name is no name for a plugin, the language has no engines or no folder of an SDK, a file exists, or the system refuses.
pub(super) fn run(args: NewArgs, output: Output) -> anyhow::Result<bool> {
    let NewArgs { name, lang, engine, directory, reconciler, sdk } = args;
    Project::check_new_name(&name)?;
    let language = Language::ALL.into_iter().find(|language| language.word() == lang);
    let language = language.with_context(|| format!("there is no language `{lang}`"))?;
    let engine = engine.and_then(|word| Engine::ALL.into_iter().find(|engine| engine.word() == word));
    if engine.is_some() && !matches!(language, Language::Js | Language::Ts) {
        bail!("--engine is for --lang js and --lang ts; a plugin in {language} has no engine to choose");
    }
    if sdk.is_some() && language != Language::Rust {
        bail!("--sdk is for --lang rust; a project in {language} contains its SDK");
    }
    let sdk = sdk.map(|sdk| {
        let missing = || format!("--sdk: {} is no folder of the SDK", sdk.display());
        sdk.join("Cargo.toml")
            .is_file()
            .then(|| sdk.canonicalize())
            .with_context(missing)?
            .with_context(missing)
    });
    let project = Project { name, language, engine, reconciler, sdk: sdk.transpose()? };
    let folder = directory.as_deref().unwrap_or_else(|| Path::new(&project.name));
    let written = project.write(folder);
    if let Err(WriteError::Exists { .. }) = &written {
        return written.context("name another folder with --directory, or move the file away").map(|_| true);
    }
    let written: Vec<String> = written?.iter().map(|path| path.display().to_string()).collect();
    let folder = folder.display().to_string();
    match output {
        Output::Json => print_json(&json!({"directory": folder, "written": written})),
        Output::Text => {
            let files = match written.len() {
                0 => "all files exist already, with the same contents,".to_owned(),
                number => format!("{number} files"),
            };
            print(&format!(
                "{folder}: {files} for a plugin in {language}. Next:\n\n  cd {}\n  informer dev --config informer.toml\n  \
                 informer test\n",
                shell_word(&folder),
            ));
        }
    }
    Ok(true)
}
