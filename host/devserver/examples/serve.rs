//! Serves until it is interrupted, and writes a kubeconfig to the given path.
//!
//! ```text
//! cargo run -p informer-devserver --example serve -- /tmp/kubeconfig [port]
//! KUBECONFIG=/tmp/kubeconfig kubectl get all
//! ```

use informer_devserver::{Config, DevServer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: serve KUBECONFIG-PATH [PORT]")?;
    let mut config = Config { garbage_collection: true, ..Config::default() };
    if let Some(port) = arguments.next() {
        config.address.set_port(port.parse()?);
    }
    let server = DevServer::start(config).await?;
    tokio::fs::write(&path, server.kubeconfig()).await?;
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    Ok(())
}
