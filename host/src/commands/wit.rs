//! `informer wit`: the interface, as files, with the SDK that belongs to it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, builder::PossibleValuesParser};
use informer_author::{Existing, Language, MANIFEST, SDK, TextFile, WitVersion, WriteError, sdk, write};
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
  informer wit wit --interface 0.1.0    writes that version of the interface

If the folder lies in a project that has a folder `sdk`, the files of the SDK are written there too. They are made for
the newest version.";

/// `informer wit`
#[derive(Clone, Debug, Args)]
pub struct WitArgs {
    /// The folder. It is made if it is missing.
    pub directory: PathBuf,
    /// The version of the interface. The host serves each of them.
    #[arg(long, value_name = "VERSION", value_parser = PossibleValuesParser::new(WitVersion::ALL.map(WitVersion::number)))]
    pub interface: Option<String>,
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
    // The parent of `wit` is the empty path, which stands for this folder.
    let project = args.directory.parent().unwrap_or(&args.directory);
    let language = language(project)?;
    let version = version(args);
    let wit = version.files();
    let mut written = written(&args.directory, &wit, existing)?;
    let mut files = wit.len();
    let folder = project.join(SDK);
    if let Some(language) = language.filter(|_| folder.is_dir()) {
        let sdk = sdk(language);
        written.extend(self::written(&folder, sdk, existing)?);
        files += sdk.len();
    }
    match output {
        Output::Json => {
            let version = version.number();
            print_json(
                &json!({"directory": args.directory, "version": version, "files": files, "written": written}),
            );
        }
        Output::Text => {
            let directory = args.directory.display();
            print(&format!(
                "{directory}: informer:plugin@{version}, {files} files, {} of them written\n",
                written.len()
            ));
        }
    }
    Ok(true)
}

fn version(args: &WitArgs) -> WitVersion {
    let named = args.interface.as_deref().and_then(|number| {
        // The command line accepts no other text.
        WitVersion::ALL.into_iter().find(|version| version.number() == number)
    });
    named.unwrap_or(WitVersion::NEWEST)
}

/// The language of the project, if the folder has one.
fn language(project: &Path) -> anyhow::Result<Option<Language>> {
    if !project.join(MANIFEST).is_file() {
        return Ok(None);
    }
    Ok(Some(build::manifest(project)?.language))
}

fn written(folder: &Path, files: &[TextFile<'_>], existing: Existing) -> anyhow::Result<Vec<PathBuf>> {
    let written = write(folder, files, existing);
    if let Err(WriteError::Exists { .. }) = &written {
        return written.context("--replace overwrites the files of another version");
    }
    Ok(written?)
}
