//! `informer dev`: the plugins of a configuration against an embedded API server.

mod projects;
mod sources;

use std::{
    fs::{self, Permissions},
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::Arc,
};

use anyhow::Context;
use clap::Args;
use informer_devserver::DevServer;
use informer_system::HttpAddress;
use tempfile::TempDir;

use projects::{Projects, Wanted};

use crate::{
    admin::IfTaken,
    app::{App, Options, author_engine},
    cli::{GlobalArgs, Output},
    commands::output::{print, print_json_line, shell_word},
    config::{Access, Config, StateDir, loopback},
    connect::connect,
    shutdown,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer dev                          the API server alone, on a free port
  informer dev --config informer.toml   with the plugins of the file; its [cluster] is ignored. A plugin with `build` is
                                        built first, and again when its sources change
  informer dev --listen 127.0.0.1:6443  the API server on a fixed port";

/// `informer dev`
#[derive(Clone, Debug, Args)]
pub struct DevArgs {
    /// The configuration file; without it the API server runs alone.
    #[arg(long, env = "INFORMER_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Loopback address of the API server; port 0 means any free port.
    #[arg(long, default_value = "127.0.0.1:0", value_parser = loopback, value_name = "ADDRESS")]
    pub listen: SocketAddr,
}

/// A kubeconfig for kubectl, in a directory of its own that only this user reads. Dropping it removes the directory.
pub(crate) struct Kubeconfig {
    path: PathBuf,
    _directory: TempDir,
}

/// Runs the embedded API server and, with a configuration, the host against it, until a signal arrives. Returns true.
///
/// # Errors
/// The configuration has a mistake, or the API server or the host does not start.
pub(super) async fn run(args: DevArgs, global: &GlobalArgs) -> anyhow::Result<bool> {
    let config = match args.config {
        Some(path) => Some((global.load(&path)?, path)),
        None => None,
    };
    serve(config, args.listen, global.output).await
}

/// Like [`run`], with a configuration that is already read.
pub(super) async fn serve(
    config: Option<(Config, PathBuf)>,
    listen: SocketAddr,
    output: Output,
) -> anyhow::Result<bool> {
    let token = shutdown::on_signals();
    let settings = informer_devserver::Config {
        address: listen,
        // A person who deletes a Deployment expects its ReplicaSets and pods to go too.
        garbage_collection: true,
        ..informer_devserver::Config::default()
    };
    let server = DevServer::start(settings).await?;
    let wanted = Wanted::default();
    let mut projects = Projects::new(wanted.clone());
    let app = match config {
        Some((config, file)) => {
            wanted.set(&config);
            // A signal ends the compiler too if a terminal sends it. Then no other project is built.
            let is_built = tokio::select! {
                biased;
                () = token.cancelled() => false,
                () = projects.build_changed() => true,
            };
            if !is_built {
                server.shutdown().await;
                return Ok(true);
            }
            Some(start(config, file, &server, wanted).await?)
        }
        None => None,
    };
    let admin = app.as_ref().and_then(App::admin_address);
    let kubeconfig = Kubeconfig::write(&server)?;
    match output {
        Output::Text => invite(&server, &kubeconfig, admin),
        Output::Json => announce(&server, &kubeconfig, admin),
    }
    tokio::select! {
        biased;
        () = token.cancelled() => {}
        () = projects.follow(), if app.is_some() => {}
    }
    if let Some(app) = app {
        app.stop().await;
    }
    server.shutdown().await;
    Ok(true)
}

/// Starts the host with the embedded API server. `wanted` follows the configuration.
async fn start(config: Config, file: PathBuf, server: &DevServer, wanted: Wanted) -> anyhow::Result<App> {
    let url = server.url().parse().context("the embedded API server's own URL")?;
    let connection = connect(&Access::Server(url)).await?;
    let options = Options {
        connection: Some(connection),
        file: Some(file),
        adjust: Arc::new(move |config| {
            // The objects end with the API server, and the state about them would be stale.
            config.host.state_dir = StateDir::Off;
            // No other host uses this API server.
            config.host.lease = None;
            wanted.set(config);
        }),
        // Several commands run at a time.
        if_taken: IfTaken::AnyPort,
        engine: author_engine,
        ..Options::default()
    };
    Ok(App::start(config, options).await?)
}

/// Prints what a person can type.
pub(crate) fn invite(server: &DevServer, kubeconfig: &Kubeconfig, admin: Option<&HttpAddress>) {
    let status = admin.map(|admin| format!("the host's status: informer status --admin {admin}\n"));
    print(&format!(
        "the API server listens at {}; try:\n\n  export KUBECONFIG={}\n  kubectl create deployment hello --image=nginx\n  \
         kubectl scale deployment hello --replicas=3\n  kubectl delete deployment hello\n\n{}Ctrl-C ends it.\n",
        server.url(),
        shell_word(&kubeconfig.path.display().to_string()),
        status.unwrap_or_default(),
    ));
}

/// Prints the addresses for a program.
fn announce(server: &DevServer, kubeconfig: &Kubeconfig, admin: Option<&HttpAddress>) {
    let admin = admin.map(HttpAddress::to_string);
    let kubeconfig = kubeconfig.path.display().to_string();
    print_json_line(&serde_json::json!({"url": server.url(), "kubeconfig": kubeconfig, "admin": admin}));
}

// === impl Kubeconfig ===

impl Kubeconfig {
    /// Writes it below the temporary directory, under a name that other users cannot foresee.
    pub(crate) fn write(server: &DevServer) -> anyhow::Result<Self> {
        let write = || -> std::io::Result<Self> {
            let private = Permissions::from_mode(0o700);
            let directory = tempfile::Builder::new().prefix("informer-").permissions(private).tempdir()?;
            let path = directory.path().join("kubeconfig.yaml");
            fs::write(&path, server.kubeconfig())?;
            Ok(Self { path, _directory: directory })
        };
        write().with_context(|| {
            format!("the kubeconfig cannot be written to {}", std::env::temp_dir().display())
        })
    }
}
