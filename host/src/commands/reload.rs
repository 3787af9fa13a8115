//! `informer reload`: lets a running host read its files now.

use std::fmt::Write;

use clap::Args;

use super::output::show;
use crate::{
    admin::{
        Client, RELOAD,
        types::{ReloadRequest, Report},
    },
    cli::{AdminArgs, Output},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer reload                           reads informer.toml and every component again
  informer reload --plugin deployments      reads the component of one plugin again
  informer reload --admin 127.0.0.1:8080    the host with this admin address

A running host notices changed files by itself; this command makes it read them now and prints the result.
Exit status: 0 everything is in force, now or at the next start; 1 something is refused or no host answers.";

/// `informer reload`
#[derive(Clone, Debug, Args)]
pub struct ReloadArgs {
    /// Read only the component of this plugin again; a version that failed before is tried again.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// Sends the request and prints the report. Returns true if the files are in force, except for keys that need a restart.
///
/// # Errors
/// No host answers, or the host takes no reload now.
pub(super) async fn run(args: ReloadArgs, output: Output) -> anyhow::Result<bool> {
    let client = Client::new(&args.host)?;
    let report = client.post(RELOAD, &ReloadRequest { plugin: args.plugin }).await?;
    show(&report, output, text);
    Ok(report.value.is_ok())
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for problem in &report.problems {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{problem}");
    }
    if !text.is_empty() {
        text.push_str("nothing was changed: the configuration in force stays\n");
    }
    for change in &report.changes {
        let _ = writeln!(text, "{change}");
    }
    if text.is_empty() { "nothing has changed\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(report: serde_json::Value) -> String {
        text(&serde_json::from_value(report).unwrap())
    }

    #[test]
    fn each_change_is_a_line() {
        let report = json!({"ok": false, "problems": [], "changes": [
            {"kind": "plugin", "name": "ttl", "verdict": "removed", "detail": "3 notifications discarded"},
            {"kind": "key", "name": "[host] admin", "verdict": "needs-restart", "detail": ""},
        ]});

        assert_eq!(
            shown(report),
            "plugin ttl: removed: 3 notifications discarded\nkey [host] admin: needs restart\n"
        );
    }

    #[test]
    fn the_problems_of_a_file_are_followed_by_their_consequence() {
        let report = json!({"ok": false, "problems": ["informer.toml:3:1: qps: ..."], "changes": []});

        assert_eq!(
            shown(report),
            "informer.toml:3:1: qps: ...\nnothing was changed: the configuration in force stays\n"
        );
        assert_eq!(shown(json!({"ok": true, "problems": [], "changes": []})), "nothing has changed\n");
    }
}
