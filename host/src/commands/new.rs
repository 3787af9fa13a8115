//! `informer new`: a project for a plugin.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, builder::PossibleValuesParser};
use informer_author::{Language, Project};
use serde_json::json;

use crate::{
    cli::Output,
    commands::output::{print, print_json},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer new hello --lang go          handlers in Go, in the folder hello
  informer new hello --lang python --reconciler
  informer new hello --lang rust --sdk ../informer/plugins/sdk/rust

Languages: rust, js (JavaScript), ts (TypeScript), python, go, c.";

/// `informer new`
#[derive(Clone, Debug, Args)]
pub struct NewArgs {
    /// The name of the plugin, and of the folder that is made.
    pub name: String,
    /// The language of the sources.
    #[arg(long, value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(Language::ALL.map(Language::word)))]
    pub lang: String,
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
/// The name is no name for a plugin, a file exists, or the system refuses.
pub(super) fn run(args: NewArgs, output: Output) -> anyhow::Result<bool> {
    let NewArgs { name, lang, directory, reconciler, sdk } = args;
    Project::check_name(&name)?;
    let language = Language::ALL.into_iter().find(|language| language.word() == lang);
    let language = language.with_context(|| format!("there is no language `{lang}`"))?;
    let sdk = sdk.map(|sdk| {
        let missing = || format!("--sdk: {} is no folder of the SDK", sdk.display());
        sdk.join("Cargo.toml")
            .is_file()
            .then(|| sdk.canonicalize())
            .with_context(missing)?
            .with_context(missing)
    });
    let project = Project { name, language, reconciler, sdk: sdk.transpose()? };
    let folder = directory.as_deref().unwrap_or_else(|| Path::new(&project.name));
    let written = project.write(folder)?;
    match output {
        Output::Json => print_json(&json!({"directory": folder, "written": written})),
        Output::Text => print(&format!(
            "{folder}: {} files for a plugin in {language}. Next:\n\n  cd {folder}\n  informer dev --config informer.toml\n  \
             informer test\n",
            written.len(),
            folder = folder.display(),
        )),
    }
    Ok(true)
}
