//! The answer, for a person.

use std::fmt::Write;

use serde_json::Value;

use crate::commands::output::{entries, table, word};

/// The columns, and the keys of a step they show.
const COLUMNS: [(&str, &str); 5] =
    [("TIME", "at"), ("STAGE", "stage"), ("PLUGIN", "plugin"), ("VERDICT", "verdict"), ("DETAIL", "detail")];

/// Where the object stands, then a table of its steps.
pub(super) fn text(answer: &Value) -> String {
    let mut text = format!("{} {}: {}\n", word(answer, "gvr"), word(answer, "key"), word(answer, "cache"));
    // Writing to a string does not fail.
    for plugin in entries(answer, "plugins") {
        let _ = writeln!(text, "  {}: {}", word(plugin, "plugin"), word(plugin, "stands"));
    }
    let steps: Vec<Vec<String>> = entries(answer, "steps").map(row).collect();
    if !steps.is_empty() {
        text.push('\n');
        for line in table(&COLUMNS.map(|(name, _)| name), &steps) {
            let _ = writeln!(text, "{line}");
        }
    } else if let Some(why) = answer.get("no-steps").and_then(Value::as_str) {
        let _ = writeln!(text, "{why}");
    }
    text
}

fn row(step: &Value) -> Vec<String> {
    let cell = |key| step.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
    COLUMNS.iter().map(|(_, key)| cell(*key)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn where_the_object_stands_comes_first_and_each_step_is_a_line_of_a_table() {
        let answer = json!({
            "gvr": "v1/pods", "key": "shop/web", "cache": "in the cache at version 12",
            "plugins": [{"plugin": "ttl", "stands": "nothing waits"}],
            "steps": [
                {"at": "2026-01-02T03:04:05.000001Z", "stage": "indexer", "plugin": null, "verdict": "replaced", "detail": "11 by 12"},
                {"at": "2026-01-02T03:04:05.000002Z", "stage": "filter", "plugin": "ttl", "verdict": "dropped", "detail": "by `labels`"},
            ],
        });

        assert_eq!(
            text(&answer).lines().collect::<Vec<_>>(),
            [
                "v1/pods shop/web: in the cache at version 12",
                "  ttl: nothing waits",
                "",
                "TIME                         STAGE    PLUGIN  VERDICT   DETAIL",
                "2026-01-02T03:04:05.000001Z  indexer  -       replaced  11 by 12",
                "2026-01-02T03:04:05.000002Z  filter   ttl     dropped   by `labels`",
            ]
        );
    }

    #[test]
    fn where_there_are_no_steps_it_is_said_why() {
        let answer = json!({"gvr": "v1/pods", "key": "web", "cache": "not in the cache", "no-steps": "the trace is off"});

        assert_eq!(text(&answer), "v1/pods web: not in the cache\nthe trace is off\n");
    }
}
