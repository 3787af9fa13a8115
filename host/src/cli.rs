//! The command line: what may be typed, not what it does.
//!
//! A flag wins over its environment variable, that over the file, and the file over the default.

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
  informer check                        read informer.toml and say everything that is wrong with it
  informer run --config informer.toml   serve the plugins of the file
  informer status                       how a running host is doing

Exit status: 0 done, 1 failed, 2 wrong usage.";

/// Runs Kubernetes shared informers and hands each event to sandboxed WebAssembly plugins.
#[derive(Clone, Debug, Parser)]
#[command(name = "informer", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What every command understands.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// What every command understands.
#[derive(Clone, Debug, clap::Args)]
pub struct GlobalArgs {
    /// How results are printed on stdout.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORM")]
    pub output: Output,
    /// What is logged on stderr, for example `info,informer_cache=debug`; wins over the file's `log`.
    #[arg(long, global = true, env = "INFORMER_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// How a log line looks; wins over the file's `log-format`.
    #[arg(long, global = true, env = "INFORMER_LOG_FORMAT", value_enum, value_name = "FORM")]
    pub log_format: Option<LogFormat>,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Serves the plugins of a configuration until a signal comes.
    #[command(after_help = args::RUN_EXAMPLES)]
    Run(RunArgs),
    /// Runs an API server of its own and the plugins against it; prints a kubeconfig for kubectl.
    #[command(after_help = args::DEV_EXAMPLES)]
    Dev(DevArgs),
    /// Tells a story with an API server of its own, an example plugin and a few deployments.
    #[command(after_help = args::DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Runs the embedded API server alone; prints a kubeconfig for kubectl.
    #[command(after_help = args::APISERVER_EXAMPLES)]
    Apiserver(ApiserverArgs),
    /// Reads a configuration and says everything that is wrong with it.
    #[command(after_help = args::CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Prints what may stand in a configuration.
    #[command(after_help = args::CONFIG_EXAMPLES)]
    Config(ConfigArgs),
    /// Prints the least roles that a configuration needs, for `kubectl apply`.
    #[command(after_help = args::RBAC_EXAMPLES)]
    Rbac(RbacArgs),
    /// Asks a running host how every informer and plugin is doing, what is wrong and what would help.
    #[command(after_help = args::STATUS_EXAMPLES)]
    Status(AdminArgs),
    /// Tells a running host to look at its configuration and components now, and says what it did.
    #[command(after_help = args::RELOAD_EXAMPLES)]
    Reload(ReloadArgs),
    /// Changes what a running host logs, or from which level on the lines of a plugin are kept, until its next start.
    #[command(after_help = args::LOG_LEVEL_EXAMPLES)]
    LogLevel(LogLevelArgs),
    /// Asks a running host what waits for each plugin, and how its deliveries go.
    #[command(after_help = args::QUEUES_EXAMPLES)]
    Queues(QueuesArgs),
    /// Lists what plugins gave up in a running host, tells it to them again, or drops it.
    #[command(after_help = args::DEAD_LETTERS_EXAMPLES)]
    DeadLetters(DeadLettersArgs),
    /// Says of one object what every stage of a running host decided about it, plugin by plugin, and where it stands.
    #[command(after_help = args::EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For a person; of `rbac`, YAML.
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
