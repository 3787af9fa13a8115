//! `informer status`: how a running host is doing, asked at its admin endpoint.

mod text;

use crate::{
    admin::Client,
    cli::{AdminArgs, Output},
    commands::output::show,
};

/// Asks, and prints the answer. True where all is well: the host is ready, and nothing it does fails.
///
/// # Errors
/// No host answers, or the configuration says that it has no admin endpoint.
pub async fn run(args: AdminArgs, output: Output) -> anyhow::Result<bool> {
    let client = Client::new(&args)?;
    let status = client.get("/status").await?;
    show(&status, output, |status| text::text(status, client.address()));
    Ok(text::sentences(&status, "unready").next().is_none()
        && text::sentences(&status, "degraded").next().is_none())
}
