//! `informer wit`: the interface, as files, with the SDK that belongs to it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use informer_author::{Existing, MANIFEST, SDK, TextFile, WIT, WriteError, sdk, write};
use serde_json::json;

use crate::{
    cli::Output,
    commands::{
        build,
        output::{print, print_json},
    },
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer wit wit                      writes the folder wit, for a toolchain that reads WIT
  informer wit wit --replace            replaces the files of another version

If the folder lies in a project that has a folder `sdk`, the files of the SDK are written there too.";

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
    let sdk = sdk_beside(&args.directory)?;
    let mut written = written(&args.directory, WIT, existing)?;
    let mut files = WIT.len();
    if let Some((folder, sdk)) = sdk {
        written.extend(self::written(&folder, sdk, existing)?);
        files += sdk.len();
    }
    match output {
        Output::Json => {
            print_json(&json!({"directory": args.directory, "files": files, "written": written}));
        }
        Output::Text => {
            let directory = args.directory.display();
            print(&format!("{directory}: {files} files, {} of them written\n", written.len()));
        }
    }
    Ok(true)
}

/// The folder of the SDK in the project that has the folder of the WIT files, and what belongs there.
fn sdk_beside(wit: &Path) -> anyhow::Result<Option<(PathBuf, &'static [TextFile<'static>])>> {
    // The parent of `wit` is the empty path, which stands for this folder.
    let project = wit.parent().unwrap_or(wit);
    let folder = project.join(SDK);
    if !folder.is_dir() || !project.join(MANIFEST).is_file() {
        return Ok(None);
    }
    let manifest = build::manifest(project)?;
    Ok(Some((folder, sdk(manifest.language))))
}

fn written(folder: &Path, files: &[TextFile<'_>], existing: Existing) -> anyhow::Result<Vec<PathBuf>> {
    let written = write(folder, files, existing);
    if let Err(WriteError::Exists { .. }) = &written {
        return written.context("--replace overwrites the files of another version");
    }
    Ok(written?)
}
