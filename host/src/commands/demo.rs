//! `informer demo`: an API server, a component and a script of changes, all in one process.

mod script;

use std::{path::Path, sync::Arc};

use anyhow::Context;
use informer_devserver::DevServer;
use informer_runtime::{LogLevel, LogLine, LogSink, LogStream};
use informer_types::one_line;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    app::{App, Options},
    cli::DemoArgs,
    commands::{dev, output::print},
    config::{self, Access, Components, Config, Environment, Place},
    connect::connect,
    logging::PluginLog,
};
use script::Script;

/// The plugin's name on the screen.
const PLUGIN: &str = "deployments";

/// Prints the lines of the component, and passes them to the script.
struct Screen(mpsc::UnboundedSender<String>);

/// Runs the script. With `--once` the demo ends then, otherwise at the first signal.
///
/// # Errors
/// A step of the script fails, or the demo cannot start.
pub async fn run(args: DemoArgs, config: Config, token: CancellationToken) -> anyhow::Result<()> {
    let server = DevServer::start(informer_devserver::Config::default()).await?;
    print(&format!("an API server without a cluster, at {}\n", server.url()));
    let url = server.url().parse().context("the embedded API server's own URL")?;
    let connection = connect(&Access::Server(url)).await?;
    let (lines, printed) = mpsc::unbounded_channel();
    let mut script = Script::new(connection.client.clone(), printed);
    script.prologue().await?;
    let options =
        Options { connection: Some(connection), log: Arc::new(Screen(lines)), ..Options::default() };
    let app = App::start(config, options).await?;
    let done = tokio::select! {
        biased;
        () = token.cancelled() => Err(anyhow::anyhow!("interrupted before the end of the demo")),
        done = script.run() => done,
    };
    if done.is_ok() {
        print("every step of the demo succeeded\n");
        if !args.once {
            dev::invite(&server, app.admin_address())?;
            script.listen_until(&token).await;
        }
    }
    app.stop().await;
    server.shutdown().await;
    done
}

/// The configuration of the demo: one watch and one plugin. Only compiled code is written to disk.
///
/// # Errors
/// There is no component.
pub fn configuration(component: &Path) -> anyhow::Result<Config> {
    let component = std::path::absolute(component)?;
    if !component.is_file() {
        anyhow::bail!(
            "there is no component at {}; `cargo xtask demo` builds one, or name yours with --component",
            component.display()
        );
    }
    let text = format!(
        r#"
        [host]
        admin = "off"
        state-dir = "off"

        [[watch]]
        gvr = "apps/v1/deployments"

        [[plugin]]
        name = "{PLUGIN}"
        source = {source:?}

          [[plugin.on]]
          watch = "apps/v1/deployments"
          resync = "30s"

          [plugin.grant]
          read = ["apps/v1/deployments"]
        "#,
        source = component.to_string_lossy(),
    );
    let place =
        Place { file: Path::new("the demo"), base: Path::new("/"), environment: &Environment::of_process() };
    Ok(config::parse(&text, &place, Components::Present)?)
}

// === impl Screen ===

impl LogSink for Screen {
    fn enabled(&self, _plugin: &str, level: LogLevel) -> bool {
        level >= LogLevel::Info
    }

    fn line(&self, line: &LogLine<'_>) {
        let is_output =
            matches!(line.stream, LogStream::Stdout | LogStream::Log) && line.level == LogLevel::Info;
        if !is_output {
            PluginLog.line(line);
            return;
        }
        print(&format!("{PLUGIN} | {}\n", one_line(line.message)));
        // The script may have ended.
        self.0.send(line.message.to_owned()).ok();
    }
}
