//! `informer config`: what may stand in a configuration.

use crate::{
    cli::{ConfigArgs, ConfigCommand},
    commands::output,
    config,
};

/// Prints the annotated configuration, or the JSON Schema.
pub fn run(args: &ConfigArgs) {
    output::print(&match args.command {
        ConfigCommand::Example => config::example(),
        ConfigCommand::Schema => config::schema(),
    });
}
