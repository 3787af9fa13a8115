//! `informer explain`: what every stage of a running host decided about one object.

use std::fmt::Write;

use clap::Args;
use form_urlencoded::Serializer;
use informer_types::ObjectKey;

use super::output::{show, table};
use crate::{
    admin::{
        Client,
        types::{Explanation, Step},
    },
    cli::{AdminArgs, Output},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer explain v1/pods shop/web                  the object `web` in the namespace `shop`
  informer explain po shop/web                       the same: each name that kubectl accepts for a watched resource
  informer explain v1/nodes node-1                   an object without a namespace
  informer explain v1/pods shop/web --plugin ttl     one plugin only
  informer explain v1/pods shop/web --output json    all details, for a program

Exit status: 0 the host has something about the object, 1 it has nothing, does not watch the resource, or does not answer.";

/// `informer explain`
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// The resource: `apps/v1/deployments`, or a name that kubectl accepts, such as `deploy` or `deployments.apps`. Short names
    /// work for built-in resources only.
    #[arg(value_name = "RESOURCE")]
    pub resource: String,
    /// The object: `namespace/name`, or `name` if it has no namespace.
    #[arg(value_name = "KEY")]
    pub key: ObjectKey,
    /// Explain this plugin only.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

const HEADER: [&str; 5] = ["TIME", "STAGE", "PLUGIN", "VERDICT", "DETAIL"];

/// Sends the request and prints the answer. Returns true if the host has anything about the object.
///
/// # Errors
/// No host answers, no watch serves the resource, or the configuration switches the admin endpoint off.
pub(super) async fn run(args: ExplainArgs, output: Output) -> anyhow::Result<bool> {
    let ExplainArgs { resource, key, plugin, host } = args;
    let mut query = Serializer::new("/explain?".to_owned());
    let query = query.append_pair("gvr", &resource).append_pair("key", &key.to_string());
    if let Some(plugin) = &plugin {
        query.append_pair("plugin", plugin);
    }
    let answer = Client::new(&host)?.get(&query.finish()).await?;
    show(&answer, output, text);
    Ok(answer.value.known)
}

/// The place of the object, then a table of its steps.
fn text(answer: &Explanation) -> String {
    let mut text = format!("{} {}: {}\n", answer.gvr, answer.key, answer.cache);
    // Writing to a string does not fail.
    for plugin in &answer.plugins {
        let _ = writeln!(text, "  {}: {}", plugin.plugin, plugin.stands);
    }
    let steps: Vec<Vec<String>> = answer.steps.iter().map(row).collect();
    if !steps.is_empty() {
        text.push('\n');
        for line in table(&HEADER, &steps) {
            let _ = writeln!(text, "{line}");
        }
    } else if let Some(why) = &answer.no_steps {
        let _ = writeln!(text, "{why}");
    }
    text
}

fn row(step: &Step) -> Vec<String> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let Step { at, stage, plugin, verdict, detail, .. } = step;
    vec![or_dash(at), stage.clone(), or_dash(plugin), verdict.clone(), detail.clone()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(answer: serde_json::Value) -> String {
        text(&serde_json::from_value(answer).unwrap())
    }

    #[test]
    fn the_place_of_the_object_comes_first_and_each_step_is_a_line_of_a_table() {
        let answer = json!({
            "gvr": "v1/pods", "key": "shop/web", "cache": "in the cache at version 12",
            "plugins": [{"plugin": "ttl", "stands": "nothing is pending"}],
            "steps": [
                {"at": "2026-01-02T03:04:05.000001Z", "stage": "indexer", "plugin": null, "verdict": "replaced", "detail": "11 by 12"},
                {"at": "2026-01-02T03:04:05.000002Z", "stage": "filter", "plugin": "ttl", "verdict": "suppressed", "detail": "by `labels`"},
            ],
        });

        assert_eq!(
            shown(answer).lines().collect::<Vec<_>>(),
            [
                "v1/pods shop/web: in the cache at version 12",
                "  ttl: nothing is pending",
                "",
                "TIME                         STAGE    PLUGIN  VERDICT     DETAIL",
                "2026-01-02T03:04:05.000001Z  indexer  -       replaced    11 by 12",
                "2026-01-02T03:04:05.000002Z  filter   ttl     suppressed  by `labels`",
            ]
        );
    }

    #[test]
    fn an_answer_without_steps_has_the_reason() {
        let answer = json!({"gvr": "v1/pods", "key": "web", "cache": "not in the cache", "no-steps": "the trace is off"});

        assert_eq!(shown(answer), "v1/pods web: not in the cache\nthe trace is off\n");
    }
}
