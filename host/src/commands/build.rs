//! `informer build`: the component of a project.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;
use clap::Args;
use informer_author::{Cache, MANIFEST, Manifest, build};
use informer_system::read_file;
use serde_json::json;

use crate::{
    cli::Output,
    commands::output::{print, print_json},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer build                        builds the project in this folder
  informer build hello                  builds the project in the folder hello

It runs the compiler of the language. Toolchains from npm and PyPI are pinned, and are kept in ~/.cache/informer or
$XDG_CACHE_HOME/informer.";

/// The most bytes of a file `informer-plugin.toml`.
const MANIFEST_BYTES: u64 = 64 << 10;

/// `informer build`
#[derive(Clone, Debug, Args)]
pub struct BuildArgs {
    /// The folder of the project.
    #[arg(default_value = ".")]
    pub directory: PathBuf,
}

/// Builds the component. Returns true.
///
/// # Errors
/// The folder has no project, a compiler is missing, or the sources have a mistake.
pub(super) async fn run(args: BuildArgs, output: Output) -> anyhow::Result<bool> {
    let manifest = manifest(&args.directory)?;
    let (begun, language) = (Instant::now(), manifest.language);
    // Compilers run for seconds.
    let building = tokio::task::spawn_blocking(move || build(&args.directory, &manifest, &Cache::of_user()));
    let built = building.await.context("the build was interrupted")??;
    let (file, kibibytes) = (built.file.display(), built.bytes.div_ceil(1024));
    let seconds = begun.elapsed().as_secs_f64();
    match output {
        Output::Json => print_json(&json!({
            "file": built.file.display().to_string(), "bytes": built.bytes, "language": language.word(), "seconds": seconds,
        })),
        Output::Text => print(&format!("{file}: {kibibytes} KiB, from {language} in {seconds:.1} s\n")),
    }
    Ok(true)
}

/// Reads how a project is built.
pub(super) fn manifest(project: &Path) -> anyhow::Result<Manifest> {
    let path = project.join(MANIFEST);
    let text = read_file(&path, MANIFEST_BYTES).with_context(|| {
        format!("cannot read {}; `informer new NAME --lang LANGUAGE` makes a project", path.display())
    })?;
    let manifest =
        String::from_utf8(text).context("it is not UTF-8").and_then(|text| Ok(toml::from_str(&text)?));
    manifest.with_context(|| path.display().to_string())
}
