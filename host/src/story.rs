//! Stories: scripted tests of a plugin against the real host and the embedded API server, in this process.
//!
//! A story is a YAML file. [`Story::read`] reads it, [`Story::run`] plays it: the host starts with the plugin's own configuration and
//! grants, each step changes the cluster, the time or the host, and once the plugin has come to rest, what it did is compared with
//! what the step expects. `plugins/guide/testing.md` describes the format.
//!
//! - `file` is the text with its lines, `script` what it means, and `run` plays it.
//! - `stage` has the host with everything around it: `setup` makes its configuration, `volume` has its files, `cluster` changes objects,
//!   `network` answers HTTP requests with the `answer`s of the story, `clock` is the wall clock of the guest, and `observed` collects
//!   what the plugin does.
//! - `seen` is an entry of what was done, `expected` one of what should be; `expect` compares, `diff` shows the difference, and
//!   `report` prints the result.
//! - `record` writes a story of what a running host has recorded.

mod answer;
mod clock;
mod cluster;
mod diff;
mod expect;
mod expected;
mod file;
mod network;
mod observed;
mod record;
mod report;
mod run;
mod script;
mod seen;
mod setup;
mod stage;
mod volume;

use std::path::PathBuf;

pub use record::recorded;
pub use report::{Finding, Format, StepReport, StoryReport, Verdict, print};
pub use script::Story;

/// A story that cannot be played: what is wrong, in which line, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", file.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct BadStory {
    /// The file of the story.
    pub file: PathBuf,
    /// Counted from 1; `None` if the file as a whole is wrong.
    pub line: Option<usize>,
    /// What was found, and what would be right.
    pub message: String,
}
