//! `informer wit`: the interface, as files, with the SDK that belongs to it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::{Args, builder::PossibleValuesParser};
use informer_author::{Existing, Language, MANIFEST, SDK, TextFile, WitVersion, WriteError, sdk, write_all};
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
    /// Replace files that have other contents, and remove files that only another version has.
    #[arg(long)]
    pub replace: bool,
}

/// Writes the files. Returns true.
///
/// # Errors
/// A file exists with other contents, or the system refuses.
pub(super) fn run(args: &WitArgs, output: Output) -> anyhow::Result<bool> {
    let existing = if args.replace { Existing::Replace } else { Existing::Refuse };
    let project = project(&args.directory);
    let language = language(&project)?;
    let version = version(args);
    let (wit, folder) = (version.files(), project.join(SDK));
    let mut folders: Vec<(&Path, &[TextFile<'_>])> = vec![(args.directory.as_path(), wit.as_slice())];
    if let Some(language) = language.filter(|_| folder.is_dir()) {
        folders.push((folder.as_path(), sdk(language)));
    }
    let files: usize = folders.iter().map(|(_, files)| files.len()).sum();
    let written = written(&folders, existing)?;
    let left_over = if args.replace { version.left_over(&args.directory) } else { Vec::new() };
    for path in &left_over {
        let failed = || format!("cannot remove {}, which belongs to another version", path.display());
        fs::remove_file(path).with_context(failed)?;
    }
    let shown =
        |paths: &[PathBuf]| -> Vec<String> { paths.iter().map(|path| path.display().to_string()).collect() };
    let directory = args.directory.display().to_string();
    match output {
        Output::Json => print_json(&json!({
            "directory": directory, "version": version.number(), "files": files, "written": shown(&written),
            "removed": shown(&left_over),
        })),
        Output::Text => {
            let removed = match left_over.len() {
                0 => String::new(),
                number => format!(", and {number} of another version removed"),
            };
            print(&format!(
                "{directory}: informer:plugin@{version}, {files} files, {} of them written{removed}\n",
                written.len()
            ));
        }
    }
    Ok(true)
}

/// The folder that the folder of the interface lies in.
fn project(directory: &Path) -> PathBuf {
    match (directory.file_name(), directory.parent()) {
        // The parent of `wit` is the empty path, which stands for this folder.
        (Some(_), Some(parent)) => parent.to_owned(),
        // `.` and `..` have no name.
        _ => directory.join(".."),
    }
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

fn written(folders: &[(&Path, &[TextFile<'_>])], existing: Existing) -> anyhow::Result<Vec<PathBuf>> {
    let written = write_all(folders, existing);
    if let Err(WriteError::Exists { .. }) = &written {
        return written.context("--replace overwrites the files of another version");
    }
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_the_folder_above_that_of_the_interface() {
        for (directory, found) in
            [("wit", ""), ("wit/", ""), ("hello/wit", "hello"), (".", "./.."), ("..", "../..")]
        {
            assert_eq!(project(Path::new(directory)), Path::new(found), "{directory}");
        }
    }
}
