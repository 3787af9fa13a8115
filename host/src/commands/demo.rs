//! `informer demo`: an API server, a component and a script of changes, all in one process.

mod script;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use clap::Args;
use informer_devserver::DevServer;
use informer_runtime::{LogLevel, LogLine, LogSink, LogStream};
use informer_types::one_line;
use tokio::sync::mpsc;

use crate::{
    app::{App, Options},
    commands::{dev, dev::Kubeconfig, output::print},
    config::{self, Access, Components, Config, Environment, Place, StateDir},
    connect::connect,
    logging::PluginLog,
    shutdown,
};
use script::Script;

pub(super) const EXAMPLES: &str = "\
Examples:
  cargo xtask demo                      builds what the demo needs, then runs this command
  informer demo --once                  ends after the demo, with status 0 if every step succeeded";

/// The component that `cargo xtask guests` builds for the demo.
const EXAMPLE_COMPONENT: &str = "target/wasm32-wasip2/plugin/deployments_rust.wasm";

/// The plugin's name on the screen.
const PLUGIN: &str = "deployments";

/// `informer demo`
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// End after the demo: status 0 if every step succeeded, 1 if not.
    #[arg(long)]
    pub once: bool,
    /// The component that receives the notifications.
    #[arg(long, default_value = EXAMPLE_COMPONENT, value_name = "FILE")]
    pub component: PathBuf,
}

/// Prints the lines of the component, and passes them to the script.
struct Screen(mpsc::UnboundedSender<String>);

/// Runs the script. With `--once` the demo ends then, otherwise at the first signal. Returns true.
///
/// # Errors
/// There is no component, a step of the script fails, or the demo cannot start.
pub(super) async fn run(args: DemoArgs) -> anyhow::Result<bool> {
    let config = configuration(&args.component)?;
    let token = shutdown::on_signals();
    let server = DevServer::start(informer_devserver::Config::default()).await?;
    print(&format!("an API server without a cluster, at {}\n", server.url()));
    let url = server.url().parse().context("the embedded API server's own URL")?;
    let connection = connect(&Access::Server(url)).await?;
    let (lines, printed) = mpsc::unbounded_channel();
    let mut script = Script::new(connection.client.clone(), printed);
    script.prologue().await?;
    let options = Options {
        connection: Some(connection),
        log: Arc::new(Screen(lines)),
        // Only compiled code and its key are written to disk.
        adjust: Arc::new(|config| config.host.state_dir = StateDir::Off),
        ..Options::default()
    };
    let app = App::start(config, options).await?;
    let done = tokio::select! {
        biased;
        () = token.cancelled() => Err(anyhow::anyhow!("interrupted before the end of the demo")),
        done = script.run() => done,
    };
    if done.is_ok() {
        print("every step of the demo succeeded\n");
        if !args.once {
            let kubeconfig = Kubeconfig::write(&server)?;
            dev::invite(&server, &kubeconfig, app.admin_address());
            script.listen_until(&token).await;
        }
    }
    app.stop().await;
    server.shutdown().await;
    done.map(|()| true)
}

/// The configuration of the demo: one watch and one plugin.
fn configuration(component: &Path) -> anyhow::Result<Config> {
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

        [[watch]]
        gvr = "apps/v1/deployments"

        [[plugin]]
        name = "{PLUGIN}"
        source = {source}

          [[plugin.on]]
          watch = "apps/v1/deployments"
          resync = "30s"

          [plugin.grant]
          read = ["apps/v1/deployments"]
        "#,
        // TOML understands the escapes of JSON.
        source = serde_json::Value::from(component.to_string_lossy()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_may_be_in_any_folder() {
        let folder = tempfile::tempdir().unwrap();
        // The accent is a character of its own.
        let component = folder.path().join("a \"cafe\u{301}\".wasm");
        std::fs::write(&component, "").unwrap();

        let config = configuration(&component).unwrap();

        assert_eq!(config.plugins[0].source.file(), Some(component.as_path()));
    }
}
