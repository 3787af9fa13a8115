//! Waits until the API server serves the resource, and notices that the resource is removed or replaced by another one
//! (D-12). If the server still serves another version of the resource, its objects exist, and the informer keeps its cache.
//!
//! In client-go, the informer of a removed CRD gets 404 for its list forever (F-9). Here the informer does not list a resource that is
//! not served. It requests discovery at a low rate until the resource is served.

use std::time::Duration;

use futures::future::select_all;
use tokio::time::sleep;

use super::Inner;
use crate::{
    FactoryConfig, Phase,
    discovery::{DiscoveryError, Resource, discover},
    error::chain,
    reflector::{FailureBackoff, ReflectorError},
    transport::Transport,
};

/// The longest wait, before jitter, between two lookups of a resource that is not served. The answer is small, and an
/// operator who installs a CRD expects it to work soon.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A resource counts as removed if this number of lookups in a row find that the server does not serve the resource, or that a
/// cluster-scoped resource has the name of a resource that is watched by namespace.
const DENIALS: usize = 3;

/// The time between two of these lookups, and the shortest time between two series of them. One of several API servers may lag
/// behind the others, and an API server that has just started does not serve every CRD yet; deletions that were delivered cannot
/// be taken back.
const BETWEEN_DENIALS: Duration = Duration::from_secs(2);

/// What happened to a resource that was served.
pub(super) enum ResourceChange {
    /// The resource was removed.
    Gone(DiscoveryError),
    /// The server does not serve the resource in this version, but its objects exist in another version, or may exist.
    Unserved,
    /// Another CRD has taken the name: the resource has another kind or another scope.
    Another(Resource),
}

/// Looks the resource up until the server serves it.
///
/// # Errors
/// The resource was removed, and the cache may have its objects.
pub(super) async fn served(
    inner: &Inner,
    transport: &Transport,
    config: &FactoryConfig,
) -> Result<Resource, DiscoveryError> {
    let mut failing = FailureBackoff::new(config.backoff);
    let mut short = config.backoff;
    short.backoff.min = short.backoff.min.min(LONGEST_WAIT);
    short.backoff.max = short.backoff.max.min(LONGEST_WAIT);
    let mut missing = FailureBackoff::new(short);
    let mut waiting = inner.cells.iter().any(|cell| cell.phase() == Phase::WaitingForResource);
    // A lookup may find a cluster-scoped resource although the informer watches by namespace. If that resource has taken the name of
    // a removed resource, the informer waits. If no resource was removed, the configuration is wrong, and the lookup counts as a failure.
    let was_removed = waiting;
    // The resource was not removed, so the cache may have objects: another version is served, or a bug ended the informer.
    let is_listed = !waiting && inner.cells.iter().any(|cell| cell.has_listed());
    let mut denials = 0;
    let mut logged = None;
    loop {
        if !waiting {
            inner.enter(Phase::Discovering);
        }
        let answer = ask(inner, transport).await;
        denials = if answer.as_ref().is_err_and(DiscoveryError::is_gone) { denials + 1 } else { 0 };
        let delay = match answer {
            Ok(resource) => {
                if waiting || logged.is_some() {
                    tracing::info!(resource = %inner.key, "the resource is served now");
                }
                inner.unserved.send_replace(false);
                return Ok(resource);
            }
            Err(error) if is_listed && denials == DENIALS => return Err(error),
            Err(error) if is_listed && error.is_gone() => BETWEEN_DENIALS,
            Err(error) if is_listed && error.is_unserved() => {
                let delay = missing.draw(error.retry_after());
                keep(inner, &error, &mut logged, delay);
                delay
            }
            Err(error) if error.is_unserved() || (was_removed && error.is_gone()) => {
                let delay = missing.draw(error.retry_after());
                if !waiting {
                    tracing::warn!(resource = %inner.key, reason = chain(&error), remedy = error.remedy(), "the resource is not served, waiting for it");
                }
                waiting = true;
                wait(inner, &error, delay);
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

/// Returns once the server has removed or replaced the resource, or has stopped serving it in this version. Sends a request only
/// after a list or a watch was answered with 404 or an object of another type arrived, so it is free in normal operation.
///
/// # Cancel safety
/// A dropped future changes nothing.
pub(super) async fn changed(inner: &Inner, transport: &Transport, resource: &Resource) -> ResourceChange {
    loop {
        select_all(inner.cells.iter().map(|cell| Box::pin(cell.doubt()))).await;
        if let Some(change) = asked(inner, transport, resource).await {
            return change;
        }
        sleep(BETWEEN_DENIALS).await;
    }
}

/// Returns `None` if the resource is unchanged, the answers differ, or the lookup failed.
async fn asked(inner: &Inner, transport: &Transport, resource: &Resource) -> Option<ResourceChange> {
    let mut denials = 0;
    for lookup in 1.. {
        match ask(inner, transport).await {
            Ok(found) => return (found != *resource).then_some(ResourceChange::Another(found)),
            Err(error) if error.is_gone() => {
                denials += 1;
                if denials == DENIALS {
                    return Some(ResourceChange::Gone(error));
                }
            }
            Err(error) if !error.is_unserved() => return None,
            Err(_) if lookup >= DENIALS => return Some(ResourceChange::Unserved),
            // The objects may exist, so earlier denials do not count.
            Err(_) => denials = 0,
        }
        sleep(BETWEEN_DENIALS).await;
    }
    None
}

async fn ask(inner: &Inner, transport: &Transport) -> Result<Resource, DiscoveryError> {
    discover(transport, &inner.key.gvr, !inner.key.namespaces.is_empty()).await
}

/// The informer waits until the server serves the resource. Its cache is empty: there was no list, or the objects of the removed
/// resource were deleted.
fn wait(inner: &Inner, error: &DiscoveryError, delay: Duration) {
    inner.unserved.send_replace(true);
    let reason = chain(error);
    for cell in &inner.cells {
        cell.wait_for_resource(&reason, error.remedy(), delay);
        // If another version of the resource is served, the empty cache may lack objects.
        if error.is_gone() {
            cell.confirm_empty();
        }
    }
}

/// The informer keeps its cache, because the objects exist in another version, or may exist there. `logged` is the last reason in
/// the log.
fn keep(inner: &Inner, error: &DiscoveryError, logged: &mut Option<String>, delay: Duration) {
    let reason = chain(error);
    if logged.as_ref() != Some(&reason) {
        let remedy = error.remedy();
        tracing::warn!(
            resource = %inner.key,
            reason,
            remedy,
            "the resource is not served in this version, keeping its objects; no deletions are delivered"
        );
        *logged = Some(reason.clone());
    }
    inner.unserved.send_replace(true);
    for cell in &inner.cells {
        cell.keep(reason.clone(), error.remedy(), delay);
    }
}

fn back_off(inner: &Inner, error: DiscoveryError, delay: Duration) {
    let error = ReflectorError::from(error);
    let (text, class) = (chain(&error), error.class());
    tracing::warn!(resource = %inner.key, class = class.as_str(), error = text, "discovery backs off");
    inner.failed(&text, class);
    inner.cells.iter().for_each(|cell| cell.back_off(delay));
}
