//! `informer log-level`: changes the log level of a running host or of one of its plugins.

use super::output::show;
use crate::{
    admin::{Client, types::LogLevelRequest},
    cli::{LogLevelArgs, Output},
};

/// Sends the request and prints the answer. Returns true.
///
/// # Errors
/// No host answers, or there is no such level or plugin.
pub async fn run(args: LogLevelArgs, output: Output) -> anyhow::Result<bool> {
    let LogLevelArgs { level, plugin, host } = args;
    let answer = Client::new(&host)?.post("/log-level", &LogLevelRequest { plugin, level }).await?;
    show(&answer, output, text);
    Ok(true)
}

fn text(LogLevelRequest { plugin, level }: &LogLevelRequest) -> String {
    let of = plugin.as_ref().map_or_else(|| "the host".to_owned(), |name| format!("plugin {name}"));
    format!("log level of {of}: {level}, until its next start\n")
}
