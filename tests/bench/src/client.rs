//! The client of all subjects.

use anyhow::{Context, Result};
use http::{Request, Uri};
use kube::{Client, Config};

/// A client for the server at this address, with HTTP/1.1 and without TLS, compression, retries and read timeout.
///
/// # Errors
/// The client cannot be built.
pub fn connect(server: &Uri) -> Result<Client> {
    let mut config = Config::new(server.clone());
    config.default_retry = false;
    config.disable_compression = true;
    Client::try_from(config).context("cannot make a client")
}

/// Makes the server send `events` more events.
///
/// # Errors
/// The server does not answer.
pub async fn emit(client: &Client, events: u64) -> Result<()> {
    let request = Request::post(format!("/emit?n={events}")).body(Vec::new())?;
    client.request_text(request).await.context("cannot request events from the server")?;
    Ok(())
}

/// Makes the server send `events` more events, one each millisecond.
///
/// # Errors
/// The server does not answer.
pub async fn pace(client: &Client, events: u64) -> Result<()> {
    let request = Request::post(format!("/pace?n={events}")).body(Vec::new())?;
    client.request_text(request).await.context("cannot request events from the server")?;
    Ok(())
}

/// The times at which the server sent the paced events, in order, in nanoseconds since 1970.
///
/// # Errors
/// The server does not answer.
pub async fn sent(client: &Client) -> Result<Vec<u64>> {
    let request = Request::get("/sent").body(Vec::new())?;
    client.request(request).await.context("cannot read from the server when it sent the events")
}
