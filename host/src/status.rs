//! `informer status`: how a running host is doing, asked at its admin endpoint.

mod text;

use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    cli::{Output, StatusArgs},
    config::{self, Access, Components},
    connect::connect,
};

/// The host answers from memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks, and prints the answer. True where all is well: the host is ready, and nothing it does fails.
///
/// # Errors
/// No host answers, or the configuration says that it has no admin endpoint.
pub async fn run(args: StatusArgs, output: Output) -> anyhow::Result<bool> {
    let address = match args.admin {
        Some(address) => address,
        None => {
            let admin = config::load(&args.config, Components::Unseen)?.host.admin;
            admin.context(
                "the configuration switches the admin endpoint off; set [host] admin = \"127.0.0.1:8080\"",
            )?
        }
    };
    let status = ask(address).await.with_context(|| {
        format!(
            "no host answers at {address}; is `informer run` running, and is this its [host] admin address?"
        )
    })?;
    match output {
        Output::Json => print(&format!("{status:#}\n")),
        Output::Text => print(&text::text(&status, address)),
    }
    Ok(text::sentences(&status, "unready").next().is_none()
        && text::sentences(&status, "degraded").next().is_none())
}

async fn ask(address: SocketAddr) -> anyhow::Result<Value> {
    let connection = connect(&Access::Server(format!("http://{address}").parse()?)).await?;
    let request = http::Request::get("/status").body(Vec::new())?;
    let answer = timeout(PATIENCE, connection.client.request_text(request)).await??;
    Ok(serde_json::from_str(&answer)?)
}

#[expect(clippy::print_stdout, reason = "the answer to the command")]
fn print(text: &str) {
    print!("{text}");
}
