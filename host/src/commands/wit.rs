//! `informer wit`: the interface, as files.

use std::path::PathBuf;

use clap::Args;
use informer_author::{Existing, WIT, write};
use serde_json::json;

use crate::{
    cli::Output,
    commands::output::{print, print_json},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer wit wit                      writes the folder wit, for a toolchain that reads WIT
  informer wit wit --replace            replaces the files of another version";

/// `informer wit`
#[derive(Clone, Debug, Args)]
pub struct WitArgs {
    /// The folder. It is made if it is missing.
    pub directory: PathBuf,
    /// Replace files that have other contents.
    #[arg(long)]
    pub replace: bool,
}

/// Writes the files. Returns true.
///
/// # Errors
/// A file exists with other contents, or the system refuses.
pub(super) fn run(args: &WitArgs, output: Output) -> anyhow::Result<bool> {
    let existing = if args.replace { Existing::Replace } else { Existing::Refuse };
    let written = write(&args.directory, WIT, existing).map_err(|error| match &error {
        informer_author::WriteError::Exists { .. } => {
            anyhow::Error::new(error).context("--replace overwrites the files of another version")
        }
        informer_author::WriteError::Io { .. } => error.into(),
    })?;
    let (directory, files) = (args.directory.display(), WIT.len());
    match output {
        Output::Json => {
            print_json(&json!({"directory": args.directory, "files": files, "written": written}));
        }
        Output::Text => print(&format!("{directory}: {files} files, {} of them written\n", written.len())),
    }
    Ok(true)
}
