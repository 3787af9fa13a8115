//! `informer reload`: lets a running host read its files now.

use std::fmt::Write;

use super::output::show;
use crate::{
    admin::{
        Client,
        types::{ReloadRequest, Report},
    },
    cli::{Output, ReloadArgs},
};

/// Sends the request and prints the report. Returns true if the files are in force, except for keys that need a restart.
///
/// # Errors
/// No host answers, or the host takes no reload now.
pub async fn run(args: ReloadArgs, output: Output) -> anyhow::Result<bool> {
    let client = Client::new(&args.host)?;
    let report = client.post_and_wait("/reload", &ReloadRequest { plugin: args.plugin }).await?;
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
