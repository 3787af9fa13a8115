//! `informer test`: a plugin against the stories of its author, without a cluster.

use std::{
    fs::Permissions,
    io::{self, ErrorKind, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches, parser::ValueSource};
use informer_types::counted;

use crate::{
    admin::{
        Client,
        types::{RecordRequest, Recording},
    },
    cli::{AdminArgs, Output, WrongInput},
    commands::output::print,
    config::FILE_NAME,
    story::{self, Format, Story},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer test                         plays each story (NAME.test.yaml) of this folder
  informer test hello.test.yaml         plays one story
  informer test --format junit > junit.xml
  informer test --format tap
  informer test --record live.test.yaml --plugin hello    records the calls of a running host
  informer test --record live.test.yaml --plugin hello --calls 20 --seconds 300 --admin unix:/run/informer/admin.sock

A story has the objects of a cluster, the steps that change them, and what the plugin must do then. It needs no cluster and no network.
Exit status: 0 every step passed, 1 a step failed, 2 a story or its configuration is wrong.";

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
    /// Write the calls that a running host makes to a plugin as a story, and play nothing.
    #[arg(long, value_name = "FILE", requires = "plugin", conflicts_with = "paths")]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub recording: RecordArgs,
}

/// What is recorded, and from which host.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of --record")]
pub struct RecordArgs {
    /// The plugin.
    #[arg(long, requires = "record", conflicts_with = "paths", value_name = "NAME")]
    pub plugin: Option<String>,
    /// Stop after this number of calls.
    #[arg(long, requires = "record", conflicts_with = "paths", default_value_t = 100, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub calls: u32,
    /// Stop after this time.
    #[arg(long, requires = "record", conflicts_with = "paths", default_value_t = 60, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
    /// Stop before all objects together have more bytes.
    #[arg(long, requires = "record", conflicts_with = "paths", default_value_t = 4 << 20, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=16 << 20))]
    pub bytes: u64,
    /// The running host.
    #[command(flatten)]
    pub host: RecordedHost,
}

/// The host whose calls are recorded.
#[derive(Clone, Debug)]
pub struct RecordedHost {
    address: AdminArgs,
    /// The option of the command line that names the host. An environment variable is for all commands, so it does not count.
    typed: Option<&'static str>,
}

// === impl TestArgs ===

impl TestArgs {
    /// Refuses options that would change nothing.
    fn check(&self, output: Output) -> anyhow::Result<()> {
        if output == Output::Json {
            bail!("--output json is not for `informer test`: choose the form by --format text, tap or junit");
        }
        match (&self.record, self.recording.host.typed) {
            (None, Some(option)) => bail!(
                "--{option} names the host of --record: write --record too, or leave --{option} out; a story names its \
                 configuration under `config`"
            ),
            _ => Ok(()),
        }
    }
}

// === impl RecordedHost ===

impl FromArgMatches for RecordedHost {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_typed = |id: &&'static str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let typed = ["config", "admin"].into_iter().find(is_typed);
        Ok(Self { address: AdminArgs::from_arg_matches(matches)?, typed })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for RecordedHost {
    fn augment_args(command: Command) -> Command {
        AdminArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        AdminArgs::augment_args_for_update(command)
    }
}

/// Plays the stories, one after the other. Returns true if everything was as expected.
///
/// # Errors
/// [`WrongInput`] if a story cannot be played, or if an option would change nothing.
pub(super) async fn run(args: TestArgs, output: Output) -> anyhow::Result<bool> {
    args.check(output).map_err(WrongInput)?;
    if let Some(file) = &args.record {
        return record(file, &args.recording).await;
    }
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

/// Records calls of a running host, and writes them as a story. Returns false if there were none.
async fn record(file: &Path, args: &RecordArgs) -> anyhow::Result<bool> {
    let RecordArgs { plugin, calls, seconds, bytes, host } = args;
    let cannot_write = || format!("cannot write a new file {}", file.display());
    // A file that cannot be written is found before the wait.
    check_new(file).with_context(cannot_write)?;
    let plugin = plugin.clone().unwrap_or_default();
    let longest = Duration::from_secs((*seconds).into());
    let request = RecordRequest { plugin, calls: *calls, seconds: *seconds, bytes: *bytes };
    let answer = Client::new(&host.address)?.post_and_wait::<Recording>("/record", &request, longest).await?;
    // As it came: the client puts each text on one line to show it, and this is written to a file.
    let recording: Recording = serde_json::from_value(answer.json)?;
    let config = host.address.config.file_name();
    let config = config.map_or(FILE_NAME.into(), |name| name.to_string_lossy());
    let (text, left_out) = story::recorded(&recording, &config, &request.plugin)?;
    let (calls, ended) = (recording.calls.len(), recording.ended);
    if calls > 0 {
        write_new(file, &text).with_context(cannot_write)?;
    }
    let left_out = match left_out {
        0 => String::new(),
        left_out => format!("; {left_out} change nothing that a story could repeat, and are left out"),
    };
    print(&format!("{}: {}, {ended}{left_out}\n", file.display(), counted(calls as u64, "call")));
    Ok(calls > 0)
}

/// Fails if [`write_new`] would fail. Nothing stays on disk, so a recording that is interrupted leaves no file.
fn check_new(file: &Path) -> io::Result<()> {
    match file.symlink_metadata() {
        Ok(_) => Err(io::Error::new(ErrorKind::AlreadyExists, "it exists already")),
        Err(error) if error.kind() == ErrorKind::NotFound => tempfile::tempfile_in(folder_of(file)).map(drop),
        Err(error) => Err(error),
    }
}

/// Writes the whole file or nothing, and replaces no file.
fn write_new(file: &Path, text: &str) -> io::Result<()> {
    // The umask of the user applies, as for any new file.
    let permissions = Permissions::from_mode(0o666);
    let mut new = tempfile::Builder::new().permissions(permissions).tempfile_in(folder_of(file))?;
    new.write_all(text.as_bytes())?;
    new.persist_noclobber(file)?;
    Ok(())
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
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
