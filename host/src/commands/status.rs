//! `informer status`: the state of a running host.

mod text;

use super::output::show;
use crate::{
    admin::{Client, types::Status},
    cli::{AdminArgs, Output},
};

/// Sends the request and prints the answer. Returns true if the host is ready and nothing it does fails.
///
/// # Errors
/// No host answers, or the configuration switches the admin endpoint off.
pub async fn run(args: AdminArgs, output: Output) -> anyhow::Result<bool> {
    let client = Client::new(&args)?;
    let answer = client.get::<Status>("/status").await?;
    show(&answer, output, |status| text::text(status, client.address()));
    Ok(answer.value.is_well())
}
