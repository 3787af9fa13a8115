//! `informer apiserver`: the embedded API server alone.

use std::net::SocketAddr;

use clap::Args;

use super::dev;
use crate::{cli::Output, config::loopback};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer apiserver
  informer apiserver --listen 127.0.0.1:6443";

/// `informer apiserver`
#[derive(Clone, Debug, Args)]
pub struct ApiserverArgs {
    /// Loopback address of the API server; port 0 means any free port.
    #[arg(long, default_value = "127.0.0.1:0", value_parser = loopback, value_name = "ADDRESS")]
    pub listen: SocketAddr,
}

/// Runs the embedded API server until a signal arrives. Returns true.
///
/// # Errors
/// The API server does not start.
pub(super) async fn run(args: ApiserverArgs, output: Output) -> anyhow::Result<bool> {
    dev::serve(None, args.listen, output).await
}
