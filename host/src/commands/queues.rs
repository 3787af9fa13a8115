//! `informer queues`: what waits for each plugin of a running host.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    admin::Client,
    cli::{Output, QueuesArgs},
    commands::output::{entries, show, table},
};

/// The columns, and the keys of the answer they show.
const COLUMNS: [(&str, &str); 9] = [
    ("PLUGIN", "plugin"),
    ("DELIVERY", "delivery"),
    ("PENDING", "pending"),
    ("WAITING", "waiting"),
    ("IN-FLIGHT", "in-flight"),
    ("OLDEST", "oldest-ms"),
    ("RATE", "rate"),
    ("RETRIED", "retried"),
    ("DEAD-LETTERS", LETTERS),
];

const LETTERS: &str = "dead-letters";

/// Asks, and prints the answer. True where neither a plugin nor its reconciler is in quarantine.
///
/// # Errors
/// No host answers, or the configuration says that it has no admin endpoint.
pub async fn run(args: QueuesArgs, output: Output) -> anyhow::Result<bool> {
    let answer = Client::new(&args.host)?.get("/queues").await?;
    show(&answer, output, text);
    let is_well = |of: &Value| of.get("quarantine").is_none_or(Value::is_null);
    Ok(entries(&answer, "queues").all(|queue| is_well(queue) && queue.get("reconciler").is_none_or(is_well)))
}

/// A table, and below each line what is wrong.
fn text(answer: &Value) -> String {
    let rows: Vec<Vec<String>> = entries(answer, "queues")
        .map(|queue| COLUMNS.iter().map(|(_, key)| cell(queue, key)).collect())
        .collect();
    let mut text = String::new();
    let trouble = std::iter::once(None).chain(entries(answer, "queues").map(Some));
    for (row, queue) in table(&COLUMNS.map(|(name, _)| name), &rows).into_iter().zip(trouble) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{row}");
        for line in queue.into_iter().flat_map(troubles) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn troubles(queue: &Value) -> Vec<String> {
    let quarantine = |of: &Value| Some(of.get("quarantine")?.get("text")?.as_str()?.to_owned());
    let reconciler = queue.get("reconciler").and_then(quarantine);
    let reconciler = reconciler.map(|text| format!("its reconciler is {text}"));
    let behind = queue.get("behind") == Some(&Value::Bool(true));
    let behind = behind.then_some("more changes wait than its capacity: they merge for a while");
    let paused = queue.get("paused") == Some(&Value::Bool(true));
    let paused = paused.then_some("no calls are made yet: the plugin or a cache it reads is not ready");
    let other = [behind, paused].into_iter().flatten().map(str::to_owned);
    [quarantine(queue), reconciler].into_iter().flatten().chain(other).collect()
}

/// Those of events and those of keys.
fn letters(queue: &Value) -> String {
    let keys = queue.get("reconciler").and_then(|reconciler| reconciler.get("dropped-keys"));
    let both = [queue.get(LETTERS), keys].into_iter().flatten().filter_map(Value::as_u64);
    both.sum::<u64>().to_string()
}

fn cell(queue: &Value, key: &str) -> String {
    match queue.get(key) {
        _ if key == LETTERS => letters(queue),
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) if key == "oldest-ms" => {
            format!("{:.1}s", number.as_f64().unwrap_or_default() / 1_000.0)
        }
        Some(Value::Number(number)) if key == "rate" => format!("{number}/s"),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_plugin_is_a_line_of_the_table_and_what_is_wrong_stands_below() {
        let answer = json!({"queues": [
            {"plugin": "ttl", "delivery": "latest", "pending": 12, "waiting": 3, "in-flight": 1, "oldest-ms": 1540,
             "rate": 2.5, "retried": 7, "dead-letters": 2, "quarantine": {"text": "in quarantine for 7 s"}},
            {"plugin": "echo", "delivery": "every", "pending": 0, "waiting": 0, "in-flight": 0, "oldest-ms": null,
             "rate": null, "retried": 0, "dead-letters": 2, "quarantine": null, "behind": true,
             "reconciler": {"dropped-keys": 3, "quarantine": {"text": "in quarantine for 9 s"}}},
        ]});

        assert_eq!(
            text(&answer).lines().collect::<Vec<_>>(),
            [
                "PLUGIN  DELIVERY  PENDING  WAITING  IN-FLIGHT  OLDEST  RATE   RETRIED  DEAD-LETTERS",
                "ttl     latest    12       3        1          1.5s    2.5/s  7        2",
                "  in quarantine for 7 s",
                "echo    every     0        0        0          -       -      0        5",
                "  its reconciler is in quarantine for 9 s",
                "  more changes wait than its capacity: they merge for a while",
            ]
        );
        assert_eq!(text(&json!({})).lines().count(), 1);
    }
}
