//! The built binary: its arguments, its output and its exit status.

mod author;
mod binary;
mod check;
mod clock;
mod compile;
mod dead_letters;
mod debug_info;
mod demo;
mod explain;
mod failures;
mod flood;
mod health;
mod identity;
mod kills;
mod log_level;
mod metrics_auth;
mod neighbour;
mod page;
mod rbac;
mod recordings;
mod reload;
mod serve;
mod state;
mod status;
mod stories;
mod streams;

use clap::CommandFactory;
use informer::commands::Cli;

use binary::informer;

const README: &str = include_str!("../../README.md");

#[tokio::test]
async fn help_and_readme_name_every_command_and_a_first_step() {
    let help = informer(&["--help"]).await;

    assert_eq!(help.status, Some(0));
    let commands = Cli::command();
    let (hidden, shown): (Vec<_>, Vec<_>) =
        commands.get_subcommands().partition(|command| command.is_hide_set());
    assert_eq!(hidden.into_iter().map(clap::Command::get_name).collect::<Vec<_>>(), ["compile"]);
    for command in shown.into_iter().map(clap::Command::get_name) {
        let listed = help.stdout.lines().any(|line| line.trim_start().starts_with(&format!("{command} ")));
        assert!(listed, "{command} is not in:\n{}", help.stdout);
        assert!(README.contains(&format!("| `informer {command}` |")), "README.md has no row for {command}");
    }
    assert!(help.stdout.contains("informer dev  "), "{}", help.stdout);
}

#[tokio::test]
async fn a_misspelt_flag_is_a_usage_error_with_a_suggestion() {
    let refused = informer(&["run", "--confg", "x.toml"]).await;

    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("'--config'"), "{}", refused.stderr);
    assert_eq!(refused.stdout, "");
}

#[tokio::test]
async fn run_without_a_configuration_names_the_path_and_shows_a_working_example() {
    let refused = informer(&["run"]).await;

    assert_eq!((refused.status, refused.stdout.as_str()), (Some(1), ""));
    let (reason, smallest) = refused.stderr.split_once("start with\n").unwrap();
    assert!(reason.starts_with("informer: there is no configuration at /"), "{reason}");
    for words in ["/informer.toml; ", "--config", "`informer new NAME --lang LANGUAGE`"] {
        assert!(reason.contains(words), "{words} is not in: {reason}");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    std::fs::write(&path, smallest).unwrap();
    let checked = informer(&["check", "--file-only", "--config", path.to_str().unwrap()]).await;
    assert_eq!(checked.status, Some(0), "{}", checked.stdout);
}
