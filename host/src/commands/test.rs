//! `informer test`: a plugin against the stories of its author, without a cluster.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::{
    cli::WrongInput,
    commands::output::print,
    story::{self, Format, Story},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer test                         plays each story of this folder: NAME.test.yaml
  informer test hello.test.yaml         plays one
  informer test --format junit > junit.xml
  informer test --format tap

A story has the objects of a cluster, the steps that change them, and what the plugin does then. It needs no cluster and no network.
Exit status: 0 all as expected, 1 something was not, 2 a story or its configuration is wrong.";

/// The end of the name of a story.
const STORY: &str = ".test.yaml";

/// `informer test`
#[derive(Clone, Debug, Args)]
pub struct TestArgs {
    /// Stories, or folders of stories.
    #[arg(default_value = ".", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The form of the result.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Plays the stories, one after the other. Returns true if everything was as expected.
///
/// # Errors
/// [`WrongInput`] if a story cannot be played.
pub(super) async fn run(args: TestArgs) -> anyhow::Result<bool> {
    let files = files(&args.paths).map_err(WrongInput)?;
    // A mistake in the last story is found before the first one is played.
    let stories = files.iter().map(|file| Story::read(file)).collect::<Result<Vec<_>, _>>();
    let stories = stories.map_err(|bad| WrongInput(bad.into()))?;
    let mut reports = Vec::with_capacity(stories.len());
    for story in &stories {
        reports.push(story.run().await.map_err(|bad| WrongInput(bad.into()))?);
    }
    print(&story::print(&reports, args.format));
    Ok(reports.iter().all(story::StoryReport::passed))
}

/// The stories at these paths, sorted in each folder.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let read = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut found = Vec::new();
        for entry in read {
            let path = entry?.path();
            let is_story = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(STORY));
            if is_story {
                // Without `./`, as a person writes it.
                found.push(path.strip_prefix(".").map(Path::to_owned).unwrap_or(path));
            }
        }
        if found.is_empty() {
            anyhow::bail!(
                "{} has no story: write one to NAME{STORY}; `informer test --help` has more",
                path.display()
            );
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}
