//! `informer dead-letters`: lists, replays or drops what the host gave up.

use std::fmt::Write;

use clap::{ArgGroup, Args, Subcommand, builder::NonEmptyStringValueParser};
use serde::Serialize;

use super::output::show;
use crate::{
    admin::{
        Client,
        types::{DeadLetters, Dropped, Replays},
    },
    cli::{AdminArgs, Output},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer dead-letters list
  informer dead-letters replay --plugin ttl --key shop/web
  informer dead-letters replay --all
  informer dead-letters drop --key shop/web --gvr cm     only the letter of the ConfigMap `shop/web`

Exit status: 0 done, 1 a letter was refused, there was no letter to replay or drop, there is no such plugin or resource,
or no host answers.";

/// `informer dead-letters`
#[derive(Clone, Debug, Args)]
pub struct DeadLettersArgs {
    /// The action.
    #[command(subcommand)]
    pub command: DeadLettersCommand,
    /// The running host.
    #[command(flatten)]
    pub host: AdminArgs,
}

/// The actions on dead letters.
#[derive(Clone, Debug, Subcommand)]
pub enum DeadLettersCommand {
    /// Lists the dead letters, the oldest first.
    List(FilterArgs),
    /// Delivers objects again in their present state, or their deletion, and reconciles keys again. A letter is deleted once
    /// the plugin acknowledges it.
    Replay(WhichArgs),
    /// Deletes the letters. The objects are delivered again only when they change.
    Drop(WhichArgs),
}

/// The letters that are listed, as a request to the admin endpoint.
#[derive(Clone, Debug, Args, Serialize)]
pub struct FilterArgs {
    /// Letters of this plugin only.
    #[arg(long, value_name = "NAME")]
    pub plugin: Option<String>,
    /// Letters of this resource only: `apps/v1/deployments`, or a name that kubectl accepts, such as `deploy` or `deployments.apps`.
    /// Short names work for built-in resources only. The keys of a reconciler belong to no resource.
    #[arg(long, value_name = "RESOURCE", value_parser = NonEmptyStringValueParser::new())]
    pub gvr: Option<String>,
}

/// The letters that are replayed or dropped, as a request to the admin endpoint.
#[derive(Clone, Debug, Args, Serialize)]
#[command(group(ArgGroup::new("which").required(true).args(["key", "all"])))]
pub struct WhichArgs {
    /// Plugin and resource.
    #[command(flatten)]
    #[serde(flatten)]
    pub filter: FilterArgs,
    /// The letter of this object, `namespace/name` or `name`, or of this key of a reconciler.
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// All letters, of this plugin and resource if they are given.
    #[arg(long)]
    pub all: bool,
}

/// Sends the request and prints the answer. Returns true if the host did something and refused nothing, or listed the
/// letters.
///
/// # Errors
/// No host answers, there is no such plugin or resource, or the configuration switches the admin endpoint off.
pub(super) async fn run(args: DeadLettersArgs, output: Output) -> anyhow::Result<bool> {
    let DeadLettersArgs { command, host } = args;
    let host = Client::new(&host)?;
    match command {
        DeadLettersCommand::List(filter) => {
            show(&host.post("/dead-letters/list", &filter).await?, output, list);
            Ok(true)
        }
        DeadLettersCommand::Replay(which) => {
            let answer = host.post("/dead-letters/replay", &which).await?;
            show(&answer, output, replays);
            let Replays { replayed, refused } = answer.value;
            Ok(refused.is_empty() && !replayed.is_empty())
        }
        DeadLettersCommand::Drop(which) => {
            let answer = host.post("/dead-letters/drop", &which).await?;
            show(&answer, output, dropped);
            Ok(!answer.value.dropped.is_empty())
        }
    }
}

/// A line for each letter, and one for its failure.
fn list(answer: &DeadLetters) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for letter in &answer.dead_letters {
        let _ = writeln!(
            text,
            "{} {}: {}, given up at {} after {} {}",
            letter.plugin.as_deref().unwrap_or("?"),
            letter.object,
            letter.verb,
            letter.at.as_deref().unwrap_or("?"),
            letter.attempts,
            if letter.attempts == 1 { "call" } else { "calls" },
        );
        // The line breaks of every text of an answer are escaped.
        let _ = writeln!(text, "  {}", letter.failure.split(r"\n").next().unwrap_or_default());
    }
    let mut text = or_nothing(text);
    for problem in &answer.problems {
        let _ = writeln!(text, "{problem}");
    }
    text
}

fn replays(answer: &Replays) -> String {
    let mut text = String::new();
    for letter in &answer.replayed {
        let _ = writeln!(
            text,
            "{} {}: replayed as {}; the letter is deleted once the plugin acknowledges it",
            letter.plugin, letter.object, letter.verb
        );
    }
    for letter in &answer.refused {
        let _ = writeln!(text, "{} {}: {}", letter.plugin, letter.object, letter.why);
    }
    or_nothing(text)
}

fn dropped(answer: &Dropped) -> String {
    let lines = answer.dropped.iter().map(|letter| format!("{} {}: dropped\n", letter.plugin, letter.object));
    or_nothing(lines.collect())
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { "no dead letters\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_letter_has_a_line_and_its_failure_another() {
        let answer = json!({
            "dead-letters": [{"plugin": "ttl", "object": "v1/pods shop/web", "verb": "update", "attempts": 10,
                              "at": "2026-01-02T03:04:05Z", "failure": r"trap: unreachable\nbacktrace"},
                             {"plugin": "ttl", "object": "key shop/web", "verb": "reconcile", "attempts": 1,
                              "at": "2026-01-02T03:04:06Z", "failure": "handler: no"}],
            "problems": ["plugin ttl: its dead letters are in memory only: the disk is full"],
        });

        assert_eq!(
            list(&serde_json::from_value(answer).unwrap()),
            "ttl v1/pods shop/web: update, given up at 2026-01-02T03:04:05Z after 10 calls\n  trap: unreachable\n\
             ttl key shop/web: reconcile, given up at 2026-01-02T03:04:06Z after 1 call\n  handler: no\n\
             plugin ttl: its dead letters are in memory only: the disk is full\n"
        );
    }

    #[test]
    fn each_replayed_refused_or_dropped_letter_has_a_line() {
        let letter = json!({"plugin": "ttl", "object": "v1/pods shop/web", "as": "delete", "why": "not yet"});
        let shown = |list: &str| serde_json::from_value(json!({ list: [letter] })).unwrap();

        for (list, words) in [
            ("replayed", "replayed as delete; the letter is deleted once the plugin acknowledges it"),
            ("refused", "not yet"),
        ] {
            assert_eq!(replays(&shown(list)), format!("ttl v1/pods shop/web: {words}\n"));
        }
        let answer = serde_json::from_value(json!({ "dropped": [letter] })).unwrap();
        assert_eq!(dropped(&answer), "ttl v1/pods shop/web: dropped\n");
        assert_eq!(replays(&Replays::default()), "no dead letters\n");
    }
}
