//! The command line. A command is one module: its arguments, the examples of its help, what it does and what it prints.

mod apiserver;
mod build;
mod check;
mod compile;
mod config;
mod crd;
mod dead_letters;
mod demo;
mod dev;
mod explain;
mod inspect;
mod log_level;
mod new;
mod output;
mod plugin;
mod queues;
pub mod rbac;
mod reload;
mod run;
mod status;
mod test;
mod wit;

use std::env;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use output::{unwritten, visible};

use crate::{
    cli::{AdminArgs, GlobalArgs},
    config::LOG,
    logging::LogFormat,
};

/// The log filter of commands that print a result. `oci_client` also warns about registries that work: its warnings are left out.
const QUIET: &str = "warn,oci_client=error";

const EXAMPLES: &str = "\
Examples:
  informer dev                          an API server of your own, no cluster needed
  informer check                        read informer.toml and list every problem
  informer run --config informer.toml   serve the plugins of the file
  informer status                       the state of a running host

Exit status: 0 done, 1 failed, 2 wrong usage.";

/// Runs Kubernetes shared informers, and notifies sandboxed WebAssembly plugins of each change.
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

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Runs the plugins of a configuration until a signal arrives.
    #[command(after_help = run::EXAMPLES)]
    Run(run::RunArgs),
    /// Runs an embedded API server and the plugins against it; prints a kubeconfig for kubectl.
    #[command(after_help = dev::EXAMPLES)]
    Dev(dev::DevArgs),
    /// Shows what an example plugin receives while deployments change in an embedded API server.
    #[command(after_help = demo::EXAMPLES)]
    Demo(demo::DemoArgs),
    /// Runs the embedded API server alone; prints a kubeconfig for kubectl.
    #[command(after_help = apiserver::EXAMPLES)]
    Apiserver(apiserver::ApiserverArgs),
    /// Checks a configuration and its components, and lists every problem.
    #[command(after_help = check::EXAMPLES)]
    Check(check::CheckArgs),
    /// Prints an annotated configuration, or a JSON Schema of it.
    #[command(after_help = config::EXAMPLES)]
    Config {
        /// What to print.
        #[command(subcommand)]
        command: config::ConfigCommand,
    },
    /// Pushes, pulls, inspects, verifies and pins components in registries.
    #[command(after_help = plugin::EXAMPLES)]
    Plugin(plugin::PluginArgs),
    /// Writes a project for a plugin, which works as it is.
    #[command(after_help = new::EXAMPLES)]
    New(new::NewArgs),
    /// Builds the component of a project.
    #[command(after_help = build::EXAMPLES)]
    Build(build::BuildArgs),
    /// Plays the stories of a plugin: scripted events, and what the plugin must do then. Needs no cluster.
    #[command(after_help = test::EXAMPLES)]
    Test(test::TestArgs),
    /// Shows what a WebAssembly file contains, what made it, and the grants that it needs.
    #[command(after_help = inspect::EXAMPLES)]
    Inspect(inspect::InspectArgs),
    /// Writes the WIT files of the interface between host and plugins into a folder.
    #[command(after_help = wit::EXAMPLES)]
    Wit(wit::WitArgs),
    /// Prints the smallest roles that a configuration needs, for `kubectl apply`.
    #[command(after_help = rbac::EXAMPLES)]
    Rbac(rbac::RbacArgs),
    /// Prints the definitions of Plugin and ClusterPlugin, for `kubectl apply`.
    #[command(after_help = crd::EXAMPLES)]
    Crd,
    /// Shows the state of a running host: every informer and plugin, each problem, and a remedy.
    #[command(after_help = status::EXAMPLES)]
    Status(AdminArgs),
    /// Makes a running host read its configuration and components again, and prints the result.
    #[command(after_help = reload::EXAMPLES)]
    Reload(reload::ReloadArgs),
    /// Changes the log filter of a running host, or the log level of one of its plugins, until its next start.
    #[command(after_help = log_level::EXAMPLES)]
    LogLevel(log_level::LogLevelArgs),
    /// Shows the queue of each plugin in a running host.
    #[command(after_help = queues::EXAMPLES)]
    Queues(AdminArgs),
    /// Lists, replays or drops the dead letters of a running host.
    #[command(after_help = dead_letters::EXAMPLES)]
    DeadLetters(dead_letters::DeadLettersArgs),
    /// Compiles one component for a host, which starts this command itself.
    #[command(hide = true, after_help = compile::EXAMPLES)]
    Compile,
    /// Shows what each stage of a running host decided about one object, and its state now for each plugin.
    #[command(after_help = explain::EXAMPLES)]
    Explain(explain::ExplainArgs),
}

// === impl Cli ===

impl Cli {
    /// Reads the arguments of this process. If they are wrong or ask for help, prints that and ends the process.
    pub fn of_process() -> Self {
        let mut matches = without_empty_variables(Self::command()).get_matches();
        Self::from_arg_matches_mut(&mut matches)
            .unwrap_or_else(|error| error.format(&mut Self::command()).exit())
    }
}

// === impl Command ===

impl Command {
    /// Runs the command. Returns true if it succeeded.
    ///
    /// # Errors
    /// Those of the command, with a text for the person who typed it.
    pub fn run(self, global: &GlobalArgs) -> anyhow::Result<bool> {
        if matches!(self, Self::Compile) {
            // Without the threads of an executor, whose stacks would count against its memory.
            return compile::run();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.run_on_executor(global))
    }

    async fn run_on_executor(self, global: &GlobalArgs) -> anyhow::Result<bool> {
        if let Some(filter) = self.log_filter() {
            global.init_logging(filter, LogFormat::Text)?;
        }
        let output = global.output;
        match self {
            Self::Run(args) => run::run(args, global).await,
            Self::Dev(args) => dev::run(args, global).await,
            Self::Demo(args) => demo::run(args).await,
            Self::Apiserver(args) => apiserver::run(args, output).await,
            Self::Check(args) => check::run(args, output).await,
            Self::Compile => compile::run(),
            Self::Config { command } => Ok(config::run(command)),
            Self::Plugin(args) => plugin::run(args, output).await,
            Self::New(args) => new::run(args, output),
            Self::Build(args) => build::run(args, output).await,
            Self::Test(args) => test::run(args, output).await,
            Self::Inspect(args) => inspect::run(&args, output),
            Self::Wit(args) => wit::run(&args, output),
            Self::Rbac(args) => rbac::run(args, output),
            Self::Crd => crd::run(output),
            Self::Status(args) => status::run(args, output).await,
            Self::Reload(args) => reload::run(args, output).await,
            Self::LogLevel(args) => log_level::run(args, output).await,
            Self::Queues(args) => queues::run(args, output).await,
            Self::DeadLetters(args) => dead_letters::run(args, output).await,
            Self::Explain(args) => explain::run(args, output).await,
        }
    }

    /// The default log filter. Returns `None` if the configuration has it, or if the command writes no log.
    fn log_filter(&self) -> Option<&'static str> {
        match self {
            Self::Build(_)
            | Self::New(_)
            | Self::Check(_)
            | Self::Plugin(_)
            | Self::Rbac(_)
            | Self::Demo(_)
            | Self::Status(_)
            | Self::Reload(_)
            | Self::LogLevel(_)
            | Self::Queues(_)
            | Self::DeadLetters(_)
            | Self::Explain(_) => Some(QUIET),
            // The result has each failure.
            Self::Test(_) => Some("off"),
            Self::Apiserver(_) => Some(LOG),
            Self::Dev(args) => args.config.is_none().then_some(LOG),
            Self::Compile
            | Self::Config { .. }
            | Self::Crd
            | Self::Inspect(_)
            | Self::Run(_)
            | Self::Wit(_) => None,
        }
    }
}

/// The same command, in which an empty environment variable counts as unset: scripts and manifests often set a variable to an empty
/// text if they have no value for it.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    let unset = |arg: Arg| if is_empty(&arg) { arg.env(None::<&'static str>) } else { arg };
    command.mut_args(unset).mut_subcommands(without_empty_variables)
}

#[cfg(test)]
mod tests;
