//! `informer demo`: an API server, a component and a story, all in one process.

mod story;

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
    commands::dev,
    config::{self, Access, Components, Config, Environment, Place},
    connect::connect,
    logging::PluginLog,
};
use story::Story;

/// The plugin's name on the screen.
const PLUGIN: &str = "deployments";

/// Prints the component's lines, and lets the story hear them.
struct Stage(mpsc::UnboundedSender<String>);

/// Tells the story; with `--once` it ends then, else at the first signal.
///
/// # Errors
/// The story did not go as told, or could not be told at all.
pub async fn run(args: DemoArgs, config: Config, token: CancellationToken) -> anyhow::Result<()> {
    let server = DevServer::start(informer_devserver::Config::default()).await?;
    say(&format!("an API server without a cluster, at {}", server.url()));
    let url = server.url().parse().context("the embedded API server's own URL")?;
    let connection = connect(&Access::Server(url)).await?;
    let (lines, heard) = mpsc::unbounded_channel();
    let mut story = Story::new(connection.client.clone(), heard);
    story.prologue().await?;
    let options = Options { connection: Some(connection), log: Arc::new(Stage(lines)), ..Options::default() };
    let app = App::start(config, options).await?;
    let told = tokio::select! {
        biased;
        () = token.cancelled() => Err(anyhow::anyhow!("interrupted before the story was told")),
        told = story.tell() => told,
    };
    if told.is_ok() {
        say("the story went as told");
        if !args.once {
            dev::invite(&server, app.admin_address())?;
            story.listen_until(&token).await;
        }
    }
    app.stop().await;
    server.shutdown().await;
    told
}

/// The demo's configuration: one watch, one plugin, nothing written to disk but compiled code.
///
/// # Errors
/// The component is not there.
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

// === impl Stage ===

impl LogSink for Stage {
    fn enabled(&self, _plugin: &str, level: LogLevel) -> bool {
        level >= LogLevel::Info
    }

    fn line(&self, line: &LogLine<'_>) {
        let said = matches!(line.stream, LogStream::Stdout | LogStream::Log) && line.level == LogLevel::Info;
        if !said {
            PluginLog.line(line);
            return;
        }
        say(&format!("{PLUGIN} | {}", one_line(line.message)));
        // Nobody listens any more when the story is over.
        self.0.send(line.message.to_owned()).ok();
    }
}

#[expect(clippy::print_stdout, reason = "the demo talks to a person")]
fn say(text: &str) {
    println!("{text}");
}
