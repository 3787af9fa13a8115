//! `informer run`: the plugins of a configuration against a cluster.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context;
use clap::Args;
use tokio::{
    select,
    signal::unix::{SignalKind, signal},
};

use crate::{
    app::{Adjust, App, Options},
    cli::{ClusterArgs, GlobalArgs},
    config::FILE_NAME,
    shutdown,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer run
  informer run --kubeconfig ~/.kube/dev.yaml --context dev
  informer run --config /etc/informer/informer.toml --log-format json";

/// The exit status of a host that lost its lease.
const EXIT_LOST: i32 = 1;

/// `informer run`
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The configuration file.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// The cluster, instead of the cluster of the file.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Runs the host until a signal arrives. Returns true.
///
/// # Errors
/// The configuration has a mistake, or the host does not start.
pub(super) async fn run(args: RunArgs, global: &GlobalArgs) -> anyhow::Result<bool> {
    // A SIGHUP without a handler ends the process. Reading the file takes time, so the handler comes first.
    let hangup = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    let config = global.load(&args.config)?;
    let token = shutdown::on_signals();
    let cluster = args.cluster;
    let adjust: Adjust = Arc::new(move |config| cluster.apply(&mut config.cluster.access));
    let options = Options { file: Some(args.config), adjust, ..Options::default() };
    let app = App::start(config, options).await?;
    let lost = app.lost();
    let serving = async {
        token.run_until_cancelled(app.reload_on_signals(hangup)).await;
        app.stop().await;
    };
    select! {
        biased;
        () = serving => Ok(true),
        // Calls in flight must not act beside those of the next leader.
        () = lost => std::process::exit(EXIT_LOST),
    }
}
