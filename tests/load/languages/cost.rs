//! What a running plugin costs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use futures::future::join_all;
use informer_devserver::{Config, DevServer};
use informer_tests::{daemon::Daemon, deployments::Deployments};
use serde_json::json;
use tempfile::TempDir;

use super::project::Project;
use crate::processes::Usage;

/// The deployments that the handler lists in each call.
const DEPLOYMENTS: u32 = 20;

/// Calls before the measured ones.
const WARM_UP: u32 = 100;

const MIB: f64 = 1_048_576.0;

/// What a plugin costs in a host that took its code from the cache.
pub(crate) struct Cost {
    /// The seconds that the host needs to compile the component.
    pub(crate) compiled_in: f64,
    /// The mean time of a call.
    pub(crate) microseconds: f64,
    /// The linear memory of the guest after the calls.
    pub(crate) guest_mib: f64,
    /// The resident memory of the host after the calls.
    pub(crate) host_mib: f64,
}

/// An API server, and the files of a host.
struct Place {
    server: DevServer,
    configuration: PathBuf,
    directory: TempDir,
}

// === impl Place ===

impl Place {
    /// Writes the configuration.
    async fn new(text: &str) -> Result<Self> {
        let (server, directory) = (DevServer::start(Config::default()).await?, TempDir::new()?);
        let configuration = directory.path().join("informer.toml");
        let [state, code] = ["state", "code"].map(|name| directory.path().join(name));
        let host = format!(
            "[cluster]\nserver = {:?}\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = {state:?}\ncache-dir = {code:?}\n",
            server.url()
        );
        fs::write(&configuration, host + text)?;
        Ok(Self { server, configuration, directory })
    }

    /// Starts a host, which is ready.
    async fn host(&self, program: &Path, log: &str) -> Daemon {
        let host = Daemon::start(program, &self.configuration, &self.directory.path().join(log)).await;
        host.idle().await;
        host
    }
}

/// The resident memory of a host without plugins, in MiB.
///
/// # Errors
/// The host ends.
pub(crate) async fn resident_without_plugins(program: &Path) -> Result<f64> {
    let place = Place::new("[[watch]]\ngvr = \"apps/v1/deployments\"\n").await?;
    let host = place.host(program, "log").await;
    let usage = Usage::of(&[host.id()])?;
    host.stop().await;
    place.server.shutdown().await;
    Ok(usage.resident_mib)
}

/// Starts a host twice with the component of the project, and makes at least `calls` calls in the second one.
///
/// # Errors
/// The host ends, or does not answer.
pub(crate) async fn of(program: &Path, project: &Project, calls: u32) -> Result<Cost> {
    let limits = "\n  [plugin.limits]\n  keyvalue-writes = 100000\n";
    let place = Place::new(&(project.configuration()? + limits)).await?;
    let of_plugin = format!("{{plugin=\"{}\"", project.name);
    let compiling = place.host(program, "first-log").await;
    let compiled_in = compiling.metric(&format!("informer_runtime_compile_seconds{of_plugin}")).await?;
    compiling.stop().await;
    let host = place.host(program, "log").await;
    let deployments = Deployments::at(&place.server.url());
    for number in 0..DEPLOYMENTS {
        deployments.create(&format!("web-{number}")).await;
    }
    let duration = async || -> Result<(f64, f64)> {
        let of_all = |part| format!("informer_runtime_call_duration_seconds_{part}{of_plugin}");
        Ok((host.metric(&of_all("count")).await?, host.metric(&of_all("sum")).await?))
    };
    let mut replicas = 1;
    let mut until = async |calls: f64| -> Result<(f64, f64)> {
        loop {
            let (count, sum) = duration().await?;
            if count >= calls {
                return Ok((count, sum));
            }
            replicas += 1;
            let changes = (0..DEPLOYMENTS).map(async |number| {
                deployments.patch(&format!("web-{number}"), json!({"spec": {"replicas": replicas}})).await
            });
            join_all(changes).await;
            host.idle().await;
        }
    };
    let (before, spent_before) = until(f64::from(WARM_UP)).await?;
    let (after, spent_after) = until(before + f64::from(calls)).await?;
    let guest = host.metric(&format!("informer_runtime_linear_memory_bytes{of_plugin}")).await?;
    let host_mib = Usage::of(&[host.id()])?.resident_mib;
    host.stop().await;
    place.server.shutdown().await;
    let microseconds = (spent_after - spent_before) / (after - before) * 1e6;
    Ok(Cost { compiled_in, microseconds, guest_mib: guest / MIB, host_mib })
}
