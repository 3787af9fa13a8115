//! `informer config`: an annotated configuration, and its JSON Schema.

use clap::Subcommand;

use super::output;
use crate::config;

pub(super) const EXAMPLES: &str = "\
Examples:
  informer config example               every key, with its meaning and its default, as a file that works
  informer config schema                a JSON Schema of the file, for editors";

/// What `informer config` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Prints an annotated configuration: every key with its meaning, bounds and default.
    Example,
    /// Prints a JSON Schema of the configuration.
    Schema,
}

/// Prints the annotated configuration, or the JSON Schema. Returns true.
pub(super) fn run(command: ConfigCommand) -> bool {
    output::print(&match command {
        ConfigCommand::Example => config::example(),
        ConfigCommand::Schema => config::schema(),
    });
    true
}
