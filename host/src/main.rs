//! The `informer` binary: arguments in, exit status out.

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use informer::{
    app::{App, Options},
    cli::{Cli, Command, GlobalArgs},
    commands::{
        check, config as config_command, dead_letters, demo, dev, explain, log_level, queues, rbac, reload,
        status,
    },
    config::{self, Components, Config},
    logging::{self, LogFormat, Precedence},
    shutdown,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The filter of commands whose screen is for their result.
const QUIET: &str = "warn";

/// The filter of commands that request something from a running host: the command itself reports a host that does not answer.
const CLIENT: &str = "warn,kube_client=off";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run(cli)));
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Returns true if the command succeeded.
async fn run(cli: Cli) -> anyhow::Result<bool> {
    let Cli { command, global } = cli;
    if let Some(filter) = filter(&command) {
        init_logging(&global, filter, LogFormat::Text)?;
    }
    let output = global.output;
    match command {
        Command::Check(args) => return check::run(args, output).await,
        Command::Config(args) => config_command::run(&args),
        Command::Rbac(args) => rbac::run(&args, output)?,
        Command::Status(args) => return status::run(args, output).await,
        Command::Reload(args) => return reload::run(args, output).await,
        Command::LogLevel(args) => return log_level::run(args, output).await,
        Command::Queues(args) => return queues::run(args, output).await,
        Command::DeadLetters(args) => return dead_letters::run(args, output).await,
        Command::Explain(args) => return explain::run(args, output).await,
        Command::Run(args) => {
            let config = load(&args.config, &global)?;
            let token = stop_on_signals();
            // Before the host starts: a SIGHUP without a handler ends the process.
            let hangup = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
            let options = Options { file: Some(args.config), ..Options::default() };
            let app = App::start(config, options).await?;
            token.run_until_cancelled(app.reload_on_signals(hangup)).await;
            app.stop().await;
        }
        Command::Dev(args) => {
            let config = match args.config {
                Some(path) => Some((load(&path, &global)?, path)),
                None => None,
            };
            dev::run(config, args.listen, output, stop_on_signals()).await?;
        }
        Command::Apiserver(args) => dev::run(None, args.listen, output, stop_on_signals()).await?,
        Command::Demo(args) => {
            let config = demo::configuration(&args.component)?;
            demo::run(args, config, stop_on_signals()).await?;
        }
    }
    Ok(true)
}

/// The default log filter of a command. Returns `None` if the configuration has it.
fn filter(command: &Command) -> Option<&'static str> {
    match command {
        Command::Check(_) | Command::Rbac(_) | Command::Demo(_) => Some(QUIET),
        Command::Status(_)
        | Command::Reload(_)
        | Command::LogLevel(_)
        | Command::Queues(_)
        | Command::DeadLetters(_)
        | Command::Explain(_) => Some(CLIENT),
        Command::Apiserver(_) => Some(config::LOG),
        Command::Dev(args) => args.config.is_none().then_some(config::LOG),
        Command::Config(_) | Command::Run(_) => None,
    }
}

/// Reads the configuration, and starts the log that it describes.
fn load(path: &std::path::Path, global: &GlobalArgs) -> anyhow::Result<Config> {
    let config = config::load(path, Components::Unseen)?;
    init_logging(global, &config.host.log, config.host.log_format)?;
    Ok(config)
}

/// A flag overrides the file.
fn init_logging(global: &GlobalArgs, filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let precedence = if global.log.is_some() { Precedence::Flag } else { Precedence::File };
    let filter = global.log.as_deref().unwrap_or(filter);
    Ok(logging::init(filter, global.log_format.unwrap_or(format), precedence)?)
}

fn stop_on_signals() -> CancellationToken {
    let token = CancellationToken::new();
    let cancel = token.clone();
    // This task ends with the process.
    tokio::spawn(async move {
        if let Err(error) = shutdown::on_signals(cancel).await {
            tracing::warn!(%error, "cannot listen for signals: stopping will not be graceful");
        }
    });
    token
}

/// Prints the error and its causes, except causes whose text is already printed.
#[expect(clippy::print_stderr, reason = "the last words of the process")]
fn complain(error: &anyhow::Error) {
    let mut text = String::from("informer");
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    eprintln!("{text}");
}
