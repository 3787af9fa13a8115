//! A host with the plugins in a process of its own, and the API server behind what can fail.

use std::{fs, path::PathBuf, time::Duration};

use informer_devserver::{Config, DevServer};
use informer_guests::ready_made;
use informer_tests::{binary, daemon::Daemon, gateway::Gateway, proxy::FaultProxy, ready_made::fragments};
use tempfile::TempDir;

use super::{cluster::Cluster, history::History};

/// The plugins of a run.
const PLUGINS: [&str; 3] = ["janitor", "reloader", "replicator"];

/// The requests of the host go through the proxy and the gateway to the server. Those of the test go to the server.
pub(super) struct Stage {
    pub(super) server: DevServer,
    pub(super) cluster: Cluster,
    pub(super) history: History,
    pub(super) gateway: Gateway,
    pub(super) proxy: FaultProxy,
    /// `None` while the host is down.
    host: Option<Daemon>,
    directory: TempDir,
}

// === impl Stage ===

impl Stage {
    /// A server without objects, and no host yet.
    pub(super) async fn new(strategy: &str) -> Self {
        let config = Config { namespace_grace: Duration::from_millis(50), ..Config::default() };
        let server = DevServer::start(config).await.unwrap();
        let cluster = Cluster::at(&server.url()).await;
        let history = History::start(&cluster).await;
        let gateway = Gateway::start(cluster.client()).await.unwrap();
        let proxy = FaultProxy::start(gateway.address()).unwrap();
        let directory = TempDir::new().unwrap();
        let strategy = strategy.to_owned();
        let plugins = tokio::task::spawn_blocking(move || {
            let adjust = |name: &str, text: String| adjusted(name, &text, &strategy);
            fragments(&PLUGINS, ready_made, adjust).unwrap()
        });
        let configuration = format!(
            "[cluster]\nserver = \"http://{}\"\n[host]\nlog = \"info,plugin=debug\"\n{}{}",
            proxy.address(),
            Daemon::state(&directory.path().join("state")),
            plugins.await.unwrap(),
        );
        fs::write(directory.path().join("informer.toml"), configuration).unwrap();
        Self { server, cluster, history, gateway, proxy, host: None, directory }
    }

    pub(super) async fn start(&mut self) {
        let program = binary::informer().await;
        let configuration = self.directory.path().join("informer.toml");
        self.host = Some(Daemon::start(program, &configuration, &self.log()).await);
    }

    pub(super) fn host(&self) -> &Daemon {
        self.host.as_ref().unwrap()
    }

    pub(super) async fn kill(&mut self) {
        self.host.take().unwrap().kill().await;
    }

    pub(super) async fn stop(&mut self) {
        self.host.take().unwrap().stop().await;
    }

    /// The file with the log of all hosts of the run.
    fn log(&self) -> PathBuf {
        self.directory.path().join("host.log")
    }

    /// Keeps the files of the run, and returns their directory.
    pub(super) fn keep(&mut self) -> PathBuf {
        self.directory.disable_cleanup(true);
        self.directory.path().to_owned()
    }
}

/// No wait of the plugin is longer than it needs to be, and nothing limits the requests of a test.
fn adjusted(name: &str, text: &str, strategy: &str) -> String {
    let text = text.replace("  [plugin.limits]\n", "  [plugin.limits]\n  requests = 1000\n");
    match name {
        "reloader" => {
            format!("{text}\n  [plugin.config]\n  settle = \"100ms\"\n  reload-strategy = \"{strategy}\"\n")
        }
        _ => text,
    }
}
