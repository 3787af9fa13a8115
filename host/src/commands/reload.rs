//! `informer reload`: a running host looks at its files again, and says what it did.

use std::fmt::Write;

use anyhow::Context;
use serde_json::Value;

use crate::{
    admin::{Client, ReloadRequest},
    cli::{Output, ReloadArgs},
    commands::output::{entries, show},
};

/// Asks, and prints what came of it. True where everything that the files say is in force, but for what needs a
/// restart.
///
/// # Errors
/// No host answers, or it takes no reloads.
pub async fn run(args: ReloadArgs, output: Output) -> anyhow::Result<bool> {
    let client = Client::new(&args.host)?;
    let report = client.post_and_wait("/reload", &ReloadRequest { plugin: args.plugin }).await?;
    show(&report, output, text);
    report.get("ok").and_then(Value::as_bool).context("the host's answer does not say whether it went well")
}

fn text(report: &Value) -> String {
    let mut text = String::new();
    for problem in entries(report, "problems").filter_map(Value::as_str) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{problem}");
    }
    if !text.is_empty() {
        text.push_str("nothing was changed: the configuration in force goes on\n");
    }
    for change in entries(report, "changes") {
        let word = |key: &str| change.get(key).and_then(Value::as_str).unwrap_or_default();
        let _ = write!(text, "{} {}: {}", word("kind"), word("name"), word("verdict").replace('-', " "));
        let detail = word("detail");
        let _ = if detail.is_empty() { writeln!(text) } else { writeln!(text, ": {detail}") };
    }
    if text.is_empty() { "nothing has changed\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_change_is_a_line() {
        let report = json!({"ok": false, "problems": [], "changes": [
            {"kind": "plugin", "name": "ttl", "verdict": "removed", "detail": "3 notifications discarded"},
            {"kind": "key", "name": "[host] admin", "verdict": "needs-restart", "detail": ""},
        ]});

        assert_eq!(
            text(&report),
            "plugin ttl: removed: 3 notifications discarded\nkey [host] admin: needs restart\n"
        );
    }

    #[test]
    fn a_bad_file_is_told_with_what_it_means() {
        let report = json!({"ok": false, "problems": ["informer.toml:3:1: qps: ..."], "changes": []});

        assert_eq!(
            text(&report),
            "informer.toml:3:1: qps: ...\nnothing was changed: the configuration in force goes on\n"
        );
        assert_eq!(text(&json!({"ok": true, "problems": [], "changes": []})), "nothing has changed\n");
    }
}
