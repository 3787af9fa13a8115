use clap::{CommandFactory, Parser, error::ErrorKind};

use super::*;
use crate::cli::Output;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

fn refusal(line: &str) -> String {
    parse(line).unwrap_err().to_string()
}

#[test]
fn the_definitions_do_not_contradict_one_another() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_examples_and_every_flag_has_help() {
    for command in Cli::command().get_subcommands() {
        assert!(
            command.get_about().is_some() && command.get_after_help().is_some(),
            "{}",
            command.get_name()
        );
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
        }
    }
}

#[test]
fn the_examples_of_the_help_parse() {
    let mut command = Cli::command();
    let mut helps = vec![command.render_help().to_string()];
    helps
        .extend(command.get_subcommands().filter_map(clap::Command::get_after_help).map(ToString::to_string));
    let lines = helps.iter().flat_map(|help| help.lines()).filter(|line| line.starts_with("  informer "));
    let mut seen = 0;
    for line in lines {
        // Two blanks separate a command from its description.
        let typed = line.trim().split("  ").next().unwrap();
        // The shell runs the rest.
        let typed = typed.split(" | ").next().unwrap();
        parse(typed).unwrap_or_else(|error| panic!("{typed}: {error}"));
        seen += 1;
    }
    assert!(seen >= 12, "{seen}");
}

#[test]
fn run_reads_informer_toml_in_the_working_directory_by_default() {
    let Command::Run(run) = parse("informer run").unwrap().command else { panic!() };
    assert_eq!(run.config, std::path::Path::new("informer.toml"));

    let Command::Run(run) = parse("informer run --config a/b.toml").unwrap().command else { panic!() };
    assert_eq!(run.config, std::path::Path::new("a/b.toml"));
}

#[test]
fn global_options_may_stand_before_and_after_the_command() {
    for line in
        ["informer --log debug --log-format json check", "informer check --log debug --log-format json"]
    {
        let global = parse(line).unwrap().global;

        assert_eq!(global.log.as_deref(), Some("debug"));
        assert_eq!(global.log_format, Some(LogFormat::Json));
        assert_eq!(global.output, Output::Text);
    }
}

#[test]
fn the_api_server_listens_on_loopback_only() {
    let Command::Dev(dev) = parse("informer dev").unwrap().command else { panic!() };
    assert_eq!(dev.listen, "127.0.0.1:0".parse().unwrap());

    assert!(refusal("informer dev --listen 0.0.0.0:6443").contains("write a loopback address, like"));
    assert!(refusal("informer apiserver --listen 6443").contains("is not an address; write an IP address"));
}

#[test]
fn a_misspelt_command_is_a_usage_error_with_a_suggestion() {
    let error = parse("informer chekc").unwrap_err();

    assert_eq!((error.kind(), error.exit_code()), (ErrorKind::InvalidSubcommand, 2));
    assert!(error.to_string().contains("'check'"), "{error}");
}

#[test]
fn dead_letters_are_requested_by_the_name_of_the_resource_as_typed_which_is_not_empty() {
    for name in ["v1/pods", "po", "deployments.apps"] {
        let line = format!("informer dead-letters list --gvr {name}");
        let Command::DeadLetters(letters) = parse(&line).unwrap().command else { panic!() };
        let dead_letters::DeadLettersCommand::List(filter) = letters.command else { panic!() };
        let request = serde_json::to_value(filter).unwrap();
        assert_eq!(request, serde_json::json!({"plugin": null, "gvr": name}));
    }

    // For the host, the empty text means the letters that belong to no resource.
    let refused = refusal("informer dead-letters drop --all --gvr=");
    assert!(refused.contains("a value is required"), "{refused}");
}

#[test]
fn a_replay_or_a_drop_of_dead_letters_names_one_key_or_all() {
    for action in ["replay", "drop", "drop --plugin ttl"] {
        let refused = refusal(&format!("informer dead-letters {action}"));
        assert!(refused.contains("--key <KEY>|--all"), "{refused}");

        let both = refusal(&format!("informer dead-letters {action} --key shop/web --all"));
        assert!(both.contains("cannot be used with"), "{both}");
    }
}

#[test]
fn the_options_of_a_recording_need_a_recording() {
    for option in ["--calls 5", "--seconds 5", "--bytes 5"] {
        assert!(refusal(&format!("informer test {option}")).contains("--record <FILE>"), "{option}");
        assert!(
            refusal(&format!("informer test it.test.yaml {option}")).contains("cannot be used"),
            "{option}"
        );

        parse(&format!("informer test --record new.test.yaml --plugin hello {option}")).unwrap();
    }
}
