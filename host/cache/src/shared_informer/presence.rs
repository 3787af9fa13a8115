//! Whether the API server serves the resource: waits for it to come, and notices that it has gone, or come back as
//! something else (D-12).
//!
//! Other than in client-go, where the informer of a removed CRD lists into a 404 for ever (F-9), what is not
//! there is not listed: discovery is asked, seldom, until it is.

use std::time::Duration;

use futures::future::select_all;
use tokio::time::sleep;

use super::Inner;
use crate::{
    DiscoveryError, FactoryConfig, Phase, ReflectorError,
    discovery::{Resource, discover},
    error::chain,
    list_watch::Transport,
    reflector::FailureBackoff,
};

/// The longest wait, before jitter, between two questions for a resource that is not served: the answer is
/// small, and whoever installs a CRD looks whether it works.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A resource is gone when the server denies it so often in a row ...
const DENIALS: usize = 3;

/// ... at this distance, which no two questions about a doubt are nearer. One of several servers may lag behind the others, and one that has just started does
/// not know every CRD yet; told deletions cannot be taken back.
const BETWEEN_DENIALS: Duration = Duration::from_secs(2);

/// What became of a resource that was served.
pub(super) enum Change {
    /// It is gone for good.
    Gone(DiscoveryError),
    /// Another CRD took its name: it is of another kind, or no longer in namespaces.
    Another(Resource),
}

/// Asks until the server serves the resource.
pub(super) async fn served(inner: &Inner, transport: &Transport, config: &FactoryConfig) -> Resource {
    let mut failing = FailureBackoff::new(config.backoff);
    let mut short = config.backoff;
    short.backoff.min = short.backoff.min.min(LONGEST_WAIT);
    short.backoff.max = short.backoff.max.min(LONGEST_WAIT);
    let mut missing = FailureBackoff::new(short);
    let mut waiting = inner.cells.iter().any(|cell| cell.phase() == Phase::WaitingForResource);
    loop {
        if !waiting {
            inner.enter(Phase::Discovering);
        }
        let delay = match ask(inner, transport).await {
            Ok(resource) => {
                if waiting {
                    tracing::info!(resource = %inner.key, "the resource is served now");
                }
                inner.unserved.send_replace(false);
                return resource;
            }
            Err(error) if error.is_unserved() => {
                let delay = missing.draw(None);
                if !waiting {
                    tracing::warn!(resource = %inner.key, reason = %error, "the resource is not served, waiting for it");
                }
                waiting = true;
                inner.unserved.send_replace(true);
                inner.cells.iter().for_each(|cell| cell.wait_for_resource(&error.to_string(), delay));
                delay
            }
            Err(error) => {
                waiting = false;
                let delay = failing.draw(error.retry_after());
                back_off(inner, error, delay);
                delay
            }
        };
        sleep(delay).await;
    }
}

/// Returns once the resource is not what it was. Asks only after a list or a watch was answered 404, or an object
/// came that is of another type; while all is well it costs nothing.
///
/// # Cancel safety
/// A dropped future changes nothing.
pub(super) async fn changed(inner: &Inner, transport: &Transport, resource: &Resource) -> Change {
    loop {
        select_all(inner.cells.iter().map(|cell| Box::pin(cell.doubt()))).await;
        if let Some(change) = asked(inner, transport, resource).await {
            return change;
        }
        sleep(BETWEEN_DENIALS).await;
    }
}

/// None where nothing changed, or the server is not sure, or cannot be asked.
async fn asked(inner: &Inner, transport: &Transport, resource: &Resource) -> Option<Change> {
    for denial in 1.. {
        match ask(inner, transport).await {
            Ok(found) => return (found != *resource).then_some(Change::Another(found)),
            Err(error) if !error.is_unserved() => return None,
            Err(error) if denial == DENIALS => return Some(Change::Gone(error)),
            Err(_) => sleep(BETWEEN_DENIALS).await,
        }
    }
    None
}

async fn ask(inner: &Inner, transport: &Transport) -> Result<Resource, DiscoveryError> {
    discover(transport, &inner.key.gvr, !inner.key.namespaces.is_empty()).await
}

fn back_off(inner: &Inner, error: DiscoveryError, delay: Duration) {
    let error = ReflectorError::from(error);
    let (text, class) = (chain(&error), error.class());
    tracing::warn!(resource = %inner.key, class = class.as_str(), error = text, "discovery backs off");
    inner.failed(&text, class);
    inner.cells.iter().for_each(|cell| cell.back_off(delay));
}
