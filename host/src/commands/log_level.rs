//! `informer log-level`: changes the log level of a running host or of one of its plugins.

use clap::Args;

use super::output::show;
use crate::{
    admin::{Client, types::LogLevelRequest},
    cli::{AdminArgs, Output},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer log-level debug --plugin hello       keeps the lines of `hello` from debug upwards
  informer log-level default --plugin hello     lets the host's filter decide about `hello`
  informer log-level info,informer_cache=debug  sets the host's filter
  informer log-level default                    restores the configured filter

Exit status: 0 done, 1 there is no such level or plugin, or no host answers.";

/// `informer log-level`
#[derive(Clone, Debug, Args)]
pub struct LogLevelArgs {
    /// trace, debug, info, warn, error or `default`. Without --plugin, a whole filter is accepted too, and `default` restores the
    /// configured filter; with --plugin, `default` lets the host's filter decide.
    #[arg(value_name = "LEVEL")]
    pub level: String,
    /// Change the level of this plugin only.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// Sends the request and prints the answer. Returns true.
///
/// # Errors
/// No host answers, or there is no such level or plugin.
pub(super) async fn run(args: LogLevelArgs, output: Output) -> anyhow::Result<bool> {
    let LogLevelArgs { level, plugin, host } = args;
    let answer = Client::new(&host)?.post("/log-level", &LogLevelRequest { plugin, level }).await?;
    show(&answer, output, text);
    Ok(true)
}

fn text(LogLevelRequest { plugin, level }: &LogLevelRequest) -> String {
    let of = plugin.as_ref().map_or_else(|| "the host".to_owned(), |name| format!("plugin {name}"));
    format!("log level of {of}: {level}, until its next start\n")
}
