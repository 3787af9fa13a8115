//! The command line.
//!
//! A flag overrides its environment variable, a variable overrides the file, and the file overrides the default.

mod args;

use clap::{Parser, Subcommand, ValueEnum};

pub use args::{
    AdminArgs, ApiserverArgs, CheckArgs, ConfigArgs, ConfigCommand, DeadLettersArgs, DeadLettersCommand,
    DemoArgs, DevArgs, ExplainArgs, LogLevelArgs, QueuesArgs, RbacArgs, ReloadArgs, RunArgs,
};

use crate::logging::LogFormat;

const EXAMPLES: &str = "\
Examples:
  informer dev                          an API server of your own, no cluster needed
  informer check                        read informer.toml and list every problem
  informer run --config informer.toml   serve the plugins of the file
  informer status                       the state of a running host

Exit status: 0 done, 1 failed, 2 wrong usage.";

/// Runs Kubernetes shared informers and hands each event to sandboxed WebAssembly plugins.
#[derive(Clone, Debug, Parser)]
#[command(name = "informer", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// Options of every command.
#[derive(Clone, Debug, clap::Args)]
pub struct GlobalArgs {
    /// Form of the result on stdout.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORM")]
    pub output: Output,
    /// Log filter, such as `info,informer_cache=debug`; the log goes to stderr. Overrides the file's `log`.
    #[arg(long, global = true, env = "INFORMER_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// Form of the log lines; overrides the file's `log-format`.
    #[arg(long, global = true, env = "INFORMER_LOG_FORMAT", value_enum, value_name = "FORM")]
    pub log_format: Option<LogFormat>,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Runs the plugins of a configuration until a signal arrives.
    #[command(after_help = args::RUN_EXAMPLES)]
    Run(RunArgs),
    /// Runs an embedded API server and the plugins against it; prints a kubeconfig for kubectl.
    #[command(after_help = args::DEV_EXAMPLES)]
    Dev(DevArgs),
    /// Shows what an example plugin receives while deployments change in an embedded API server.
    #[command(after_help = args::DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Runs the embedded API server alone; prints a kubeconfig for kubectl.
    #[command(after_help = args::APISERVER_EXAMPLES)]
    Apiserver(ApiserverArgs),
    /// Reads a configuration and lists every problem.
    #[command(after_help = args::CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Prints what may stand in a configuration.
    #[command(after_help = args::CONFIG_EXAMPLES)]
    Config(ConfigArgs),
    /// Prints the least roles that a configuration needs, for `kubectl apply`.
    #[command(after_help = args::RBAC_EXAMPLES)]
    Rbac(RbacArgs),
    /// Shows the state of a running host: every informer and plugin, what is wrong, and what would help.
    #[command(after_help = args::STATUS_EXAMPLES)]
    Status(AdminArgs),
    /// Makes a running host read its configuration and components again, and prints the result.
    #[command(after_help = args::RELOAD_EXAMPLES)]
    Reload(ReloadArgs),
    /// Changes the log filter of a running host, or the log level of one of its plugins, until its next start.
    #[command(after_help = args::LOG_LEVEL_EXAMPLES)]
    LogLevel(LogLevelArgs),
    /// Shows the queue of each plugin in a running host.
    #[command(after_help = args::QUEUES_EXAMPLES)]
    Queues(QueuesArgs),
    /// Lists, replays or drops the dead letters of a running host.
    #[command(after_help = args::DEAD_LETTERS_EXAMPLES)]
    DeadLetters(DeadLettersArgs),
    /// Shows what each stage of a running host decided about one object, and where the object stands with each plugin.
    #[command(after_help = args::EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For a person; YAML for `rbac`.
    #[default]
    #[value(alias = "yaml")]
    Text,
    /// For a program.
    Json,
}

// === impl LogFormat ===

impl ValueEnum for LogFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Text, Self::Json]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(match self {
            Self::Text => clap::builder::PossibleValue::new("text").help("For a person"),
            Self::Json => clap::builder::PossibleValue::new("json").help("For a collector"),
        })
    }
}

#[cfg(test)]
mod tests;
