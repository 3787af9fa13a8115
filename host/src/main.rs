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

/// The demo's screen belongs to the component; what goes wrong is shown all the same.
const QUIET: &str = "warn";

/// Whoever asks a host that does not answer is told so once.
const ASKING: &str = "warn,kube_client=off";

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

/// True where what was asked for went well.
async fn run(cli: Cli) -> anyhow::Result<bool> {
    let Cli { command, global } = cli;
    match command {
        Command::Check(args) => {
            init_logging(&global, QUIET, LogFormat::Text)?;
            return check::run(args, global.output).await;
        }
        Command::Config(args) => config_command::run(&args),
        Command::Rbac(args) => {
            init_logging(&global, QUIET, LogFormat::Text)?;
            rbac::run(&args, global.output)?;
        }
        Command::Status(args) => {
            init_logging(&global, ASKING, LogFormat::Text)?;
            return status::run(args, global.output).await;
        }
        Command::Reload(args) => {
            init_logging(&global, ASKING, LogFormat::Text)?;
            return reload::run(args, global.output).await;
        }
        Command::LogLevel(args) => {
            init_logging(&global, ASKING, LogFormat::Text)?;
            return log_level::run(args, global.output).await;
        }
        Command::Queues(args) => {
            init_logging(&global, ASKING, LogFormat::Text)?;
            return queues::run(args, global.output).await;
        }
        Command::DeadLetters(args) => {
            init_logging(&global, ASKING, LogFormat::Text)?;
            return dead_letters::run(args, global.output).await;
        }
        Command::Explain(args) => {
            init_logging(&global, ASKING, LogFormat::Text)?;
            return explain::run(args, global.output).await;
        }
        Command::Run(args) => {
            let config = load(&args.config, &global)?;
            let token = stop_on_signals();
            // Before the host starts: a SIGHUP that nobody listens for ends the process.
            let hangup = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
            let options = Options { file: Some(args.config), ..Options::default() };
            let app = App::start(config, options).await?;
            token.run_until_cancelled(app.reload_on_signals(hangup)).await;
            app.stop().await;
        }
        Command::Dev(args) => {
            let config = match &args.config {
                Some(path) => Some((load(path, &global)?, path.clone())),
                None => {
                    init_logging(&global, config::LOG, LogFormat::Text)?;
                    None
                }
            };
            dev::run(config, args.listen, global.output, stop_on_signals()).await?;
        }
        Command::Apiserver(args) => {
            init_logging(&global, config::LOG, LogFormat::Text)?;
            dev::run(None, args.listen, global.output, stop_on_signals()).await?;
        }
        Command::Demo(args) => {
            init_logging(&global, QUIET, LogFormat::Text)?;
            let config = demo::configuration(&args.component)?;
            demo::run(args, config, stop_on_signals()).await?;
        }
    }
    Ok(true)
}

/// Reads the configuration, and starts the log as it says.
fn load(path: &std::path::Path, global: &GlobalArgs) -> anyhow::Result<Config> {
    let config = config::load(path, Components::Unseen)?;
    init_logging(global, &config.host.log, config.host.log_format)?;
    Ok(config)
}

/// A flag wins over what the file says.
fn init_logging(global: &GlobalArgs, filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let precedence = if global.log.is_some() { Precedence::Flag } else { Precedence::File };
    let filter = global.log.as_deref().unwrap_or(filter);
    Ok(logging::init(filter, global.log_format.unwrap_or(format), precedence)?)
}

fn stop_on_signals() -> CancellationToken {
    let token = CancellationToken::new();
    let cancel = token.clone();
    // Ends with the process: there is nothing to wait for.
    tokio::spawn(async move {
        if let Err(error) = shutdown::on_signals(cancel).await {
            tracing::warn!(%error, "cannot listen for signals: stopping will not be graceful");
        }
    });
    token
}

/// The error and its causes; a cause whose words an earlier one has already is left out.
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
