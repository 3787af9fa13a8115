//! `informer queues`: what is pending for each plugin of a running host.

use std::{fmt::Write, time::Duration};

use super::output::{show, table};
use crate::{
    admin::{
        Client,
        types::{PluginQueue, Queues},
    },
    cli::{AdminArgs, Output},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer queues                           a line for each plugin: its notifications, and the KEYS in its workqueue
  informer queues --output json             all details, for a program

Exit status: 0 no plugin is in quarantine, 1 a plugin is in quarantine or no host answers.";

/// The columns from `PENDING` to `RETRIED` are about notifications, and `KEYS` is about the workqueue. `DEAD-LETTERS` counts those of
/// notifications, keys and signals.
const HEADER: [&str; 10] = [
    "PLUGIN",
    "DELIVERY",
    "PENDING",
    "DELAYED",
    "IN-FLIGHT",
    "OLDEST",
    "RATE",
    "RETRIED",
    "KEYS",
    "DEAD-LETTERS",
];

/// Sends the request and prints the answer. Returns true if no handler, reconciler or signal is in quarantine.
///
/// # Errors
/// No host answers, or the configuration switches the admin endpoint off.
pub(super) async fn run(args: AdminArgs, output: Output) -> anyhow::Result<bool> {
    let answer = Client::new(&args)?.get("/queues").await?;
    show(&answer, output, text);
    let Queues { queues } = answer.value;
    Ok(queues.iter().all(|one| quarantines(one).next().is_none()))
}

/// A table, with the troubles of each plugin below its line.
fn text(answer: &Queues) -> String {
    let rows: Vec<Vec<String>> = answer.queues.iter().map(row).collect();
    let mut text = String::new();
    let below = std::iter::once(None).chain(answer.queues.iter().map(Some));
    for (row, queue) in table(&HEADER, &rows).into_iter().zip(below) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{row}");
        for line in queue.into_iter().flat_map(troubles) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn row(PluginQueue { plugin, queue, reconciler, signals }: &PluginQueue) -> Vec<String> {
    let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    let seconds = |time: Duration| format!("{:.1}s", time.as_secs_f64());
    let stats = &queue.stats;
    let dropped: usize = reconciler.iter().chain(signals).map(|keys| keys.dropped_keys).sum();
    vec![
        plugin.clone(),
        queue.delivery.clone(),
        stats.pending.to_string(),
        stats.delayed.to_string(),
        stats.in_flight.to_string(),
        or_dash(stats.oldest.map(seconds)),
        or_dash(queue.rate.map(|rate| format!("{rate:?}/s"))),
        stats.retried.to_string(),
        or_dash(reconciler.as_ref().map(|workqueue| workqueue.keys.to_string())),
        (stats.dead_letters + dropped).to_string(),
    ]
}

/// The quarantine of the plugin, that of its reconciler and that of its signals, in words.
fn quarantines(of: &PluginQueue) -> impl Iterator<Item = String> {
    let handler = of.queue.stats.quarantine.as_ref().map(|quarantine| quarantine.text.clone());
    let reconciler = of.reconciler.as_ref().and_then(|reconciler| reconciler.quarantine.as_ref());
    let reconciler = reconciler.map(|quarantine| format!("its reconciler is {}", quarantine.text));
    let signals = of.signals.as_ref().and_then(|signals| signals.quarantine.as_ref());
    let signals = signals.map(|quarantine| format!("its signals are {}", quarantine.text));
    handler.into_iter().chain(reconciler).chain(signals)
}

fn troubles(of: &PluginQueue) -> Vec<String> {
    let others = [
        (
            of.queue.stats.behind,
            "more changes are pending than its capacity: they merge until it has caught up",
        ),
        (of.queue.stats.paused, "no calls are made yet: the plugin or a cache that it reads is not ready"),
    ];
    let others = others.into_iter().filter(|(is, _)| *is).map(|(_, text)| text.to_owned());
    quarantines(of).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_plugin_is_a_line_of_the_table_with_its_troubles_below() {
        let answer = json!({"queues": [
            {"plugin": "ttl", "delivery": "latest", "pending": 12, "delayed": 3, "in-flight": 1, "oldest-ms": 1540,
             "rate": 2.5, "retried": 7, "dead-letters": 2, "quarantine": {"text": "in quarantine for 7 s"}},
            {"plugin": "echo", "delivery": "every", "pending": 0, "delayed": 0, "in-flight": 0, "oldest-ms": null,
             "rate": null, "retried": 0, "dead-letters": 2, "quarantine": null, "behind": true,
             "reconciler": {"keys": 5, "dropped-keys": 3, "quarantine": {"text": "in quarantine for 9 s"}},
             "signals": {"dropped-keys": 1, "quarantine": {"text": "in quarantine for 4 s"}}},
        ]});

        assert_eq!(
            text(&serde_json::from_value(answer).unwrap()).lines().collect::<Vec<_>>(),
            [
                "PLUGIN  DELIVERY  PENDING  DELAYED  IN-FLIGHT  OLDEST  RATE   RETRIED  KEYS  DEAD-LETTERS",
                "ttl     latest    12       3        1          1.5s    2.5/s  7        -     2",
                "  in quarantine for 7 s",
                "echo    every     0        0        0          -       -      0        5     6",
                "  its reconciler is in quarantine for 9 s",
                "  its signals are in quarantine for 4 s",
                "  more changes are pending than its capacity: they merge until it has caught up",
            ]
        );
        assert_eq!(text(&Queues::default()).lines().count(), 1);
    }
}
