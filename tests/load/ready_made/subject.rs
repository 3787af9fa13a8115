//! What is measured: the host, or other programs.

use std::{fs, process::Stdio};

use anyhow::Result;
use informer_guests::ready_made;
use informer_tests::{daemon::Daemon, gateway::Gateway, ready_made::fragments};
use kube::Client;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::{Arguments, receiver::Receiver};

const PLUGINS: [&str; 4] = ["event-exporter", "janitor", "reloader", "replicator"];

/// Running programs, and the gateway that counts their requests.
pub(crate) struct Subject {
    pub(crate) gateway: Gateway,
    running: Running,
    _receiver: Receiver,
    _directory: TempDir,
}

enum Running {
    Host(Box<Daemon>),
    Others(Vec<Child>),
}

// === impl Subject ===

impl Subject {
    /// The host with all four plugins as they are shipped, but without the time in which changes settle.
    pub(crate) async fn host(arguments: &Arguments, client: Client) -> Result<Self> {
        let Arguments { program, without_roll_events, .. } = arguments;
        let gateway = Gateway::start(client).await?;
        let (receiver, directory) = (Receiver::start().await?, TempDir::new()?);
        let configuration = directory.path().join("informer.toml");
        let log = directory.path().join("host.log");
        let text = tokio::task::block_in_place(|| {
            fragments(&PLUGINS, ready_made, |name, text| match name {
                "reloader" => {
                    let roll_events = !without_roll_events;
                    format!("{text}\n  [plugin.config]\n  settle = \"0s\"\n  roll-events = {roll_events}\n")
                }
                _ => text.replace("https://hooks.example.com", &receiver.url),
            })
        })?;
        let state = Daemon::state(&directory.path().join("state"));
        // The first host compiles the components. The second one is measured, as after each later start.
        let nowhere = format!("[cluster]\nserver = \"http://127.0.0.1:1\"\n[host]\n{state}{text}");
        fs::write(&configuration, nowhere)?;
        let host = Daemon::start(program, &configuration, &log).await;
        host.compiled(&PLUGINS).await;
        host.kill().await;
        fs::write(
            &configuration,
            format!("[cluster]\nserver = \"{}\"\n[host]\n{state}{text}", gateway.url()),
        )?;
        let host = Daemon::start(program, &configuration, &log).await;
        Ok(Self {
            gateway,
            running: Running::Host(Box::new(host)),
            _receiver: receiver,
            _directory: directory,
        })
    }

    /// These commands of `sh`, which find the API server by $KUBECONFIG and the receiver of Events by $RECEIVER.
    pub(crate) async fn beside(commands: &[String], client: Client) -> Result<Self> {
        let gateway = Gateway::start(client).await?;
        let (receiver, directory) = (Receiver::start().await?, TempDir::new()?);
        let kubeconfig = directory.path().join("kubeconfig");
        fs::write(&kubeconfig, kubeconfig_of(&gateway.url()))?;
        let mut children = Vec::new();
        for (number, command) in commands.iter().enumerate() {
            let log = fs::File::create(std::env::temp_dir().join(format!("ready-made-load-{number}.log")))?;
            let child = Command::new("sh")
                .arg("-c")
                .arg(format!("exec {command}"))
                .env("KUBECONFIG", &kubeconfig)
                .env("RECEIVER", &receiver.url)
                .stdin(Stdio::null())
                .stdout(log.try_clone()?)
                .stderr(log)
                .kill_on_drop(true)
                .spawn()?;
            children.push(child);
        }
        Ok(Self { gateway, running: Running::Others(children), _receiver: receiver, _directory: directory })
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        match &self.running {
            Running::Host(host) => vec![host.id()],
            Running::Others(children) => children.iter().filter_map(Child::id).collect(),
        }
    }
}

fn kubeconfig_of(url: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: load\n  cluster:\n    server: {url}\nusers:\n- name: load\n  \
         user: {{}}\ncontexts:\n- name: load\n  context:\n    cluster: load\n    user: load\ncurrent-context: load\n"
    )
}
