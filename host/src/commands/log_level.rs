//! `informer log-level`: another log level for a running host or one of its plugins.

use crate::{
    admin::{Client, LogLevelRequest},
    cli::{LogLevelArgs, Output},
    commands::output::print,
};

/// Asks the host to change it. True: it did.
///
/// # Errors
/// No host answers, or there is no such level or plugin.
pub async fn run(args: LogLevelArgs, output: Output) -> anyhow::Result<bool> {
    let LogLevelArgs { level, plugin, host } = args;
    let request = LogLevelRequest { plugin, level };
    let answer = Client::new(&host)?.post("/log-level", &request).await?;
    match output {
        Output::Json => print(&format!("{answer:#}\n")),
        Output::Text => print(&text(&request)),
    }
    Ok(true)
}

fn text(request: &LogLevelRequest) -> String {
    let LogLevelRequest { plugin, level } = request;
    let of = plugin.as_ref().map_or_else(|| "the host".to_owned(), |name| format!("plugin {name}"));
    format!("log level of {of}: {level}, until its next start\n")
}
