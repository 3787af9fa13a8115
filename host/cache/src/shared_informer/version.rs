//! The resource version of the cache.

use std::time::Duration;

use futures::future::try_join_all;

use super::SharedInformer;
use crate::{IncomparableVersion, ResourceVersion};

/// Why a wait for a resource version failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The server's resource versions have no order.
    #[error(transparent)]
    Incomparable(#[from] IncomparableVersion),
    /// The informer stopped first.
    #[error("the informer of {0} stopped before its cache had the resource version")]
    Stopped(Box<crate::InformerKey>),
}

// === impl SharedInformer ===

impl SharedInformer {
    /// Returns the resource version that the cache has reached: the version of the last list, event or bookmark that was applied
    /// (I-11). With several namespaces, returns the oldest of their versions. Returns `None` before the first list.
    ///
    /// # Errors
    /// [`IncomparableVersion`] if several namespaces are watched and the server's resource versions have no order.
    pub fn last_synced_version(&self) -> Result<Option<String>, IncomparableVersion> {
        let applied: Vec<String> = self.inner.cells.iter().map(|cell| cell.applied_version()).collect();
        if applied.iter().any(String::is_empty) {
            return Ok(None);
        }
        of_all(applied, |versions| versions.min())
    }

    /// The time since the last list, event or bookmark. The cache shows the state of that moment or a newer state. While the server does
    /// not serve the resource and the cache is empty, returns the time since the last lookup that did not find the resource. With
    /// several namespaces, returns the longest of their times. Returns `None` until every namespace was listed.
    pub fn data_age(&self) -> Option<Duration> {
        let ages: Option<Vec<Duration>> = self.inner.cells.iter().map(|cell| cell.data_age()).collect();
        ages?.into_iter().max()
    }

    /// Returns the newest resource version in the cache: no notification so far is newer. With several namespaces, returns the newest
    /// of their versions; otherwise the result is that of [`last_synced_version`](Self::last_synced_version). Returns `None` before the
    /// first list of any namespace.
    ///
    /// # Errors
    /// [`IncomparableVersion`] if several namespaces are watched and the server's resource versions have no order.
    pub fn newest_applied_version(&self) -> Result<Option<String>, IncomparableVersion> {
        let applied = self.inner.cells.iter().map(|cell| cell.applied_version());
        of_all(applied.filter(|version| !version.is_empty()).collect(), |versions| versions.max())
    }

    /// Waits until the cache has reached this resource version or a newer one. A client that wrote an object and waits for the resource
    /// version in the answer reads its own write. If several namespaces are watched, waits for the cache of `namespace`, or for all of
    /// them if `namespace` is `None`.
    ///
    /// The cache never has a version of a namespace that is not watched: such a wait lasts until the informer stops, so set a
    /// timeout.
    ///
    /// An object that the informer's selectors leave out does not move the cache's version; the next bookmark does,
    /// after about a minute. If the server never had the version, the wait lasts until the informer stops, so set a
    /// timeout.
    ///
    /// # Errors
    /// [`VersionError::Incomparable`] if `resource_version` or the server's versions are not decimal integers. Every
    /// Kubernetes API server since 1.35 sends decimal integers.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_for_version(
        &self,
        resource_version: &str,
        namespace: Option<&str>,
    ) -> Result<(), VersionError> {
        let wanted: ResourceVersion = resource_version.parse()?;
        let is_wanted = |own: &str| namespace.is_none_or(|wanted| wanted == own);
        let cells: Vec<_> =
            self.inner.cells.iter().filter(|cell| cell.namespace().is_none_or(is_wanted)).collect();
        let is_watched = !cells.is_empty();
        let reached = |version: &str| match version {
            "" => None,
            version => match version.parse::<ResourceVersion>() {
                Ok(version) => (version >= wanted).then_some(Ok(())),
                Err(incomparable) => Some(Err(incomparable)),
            },
        };
        let waits = cells.into_iter().map(|cell| cell.wait_applied(reached));
        tokio::select! {
            biased;
            applied = try_join_all(waits), if is_watched => {
                applied?;
                Ok(())
            }
            () = self.inner.ended.cancelled() => Err(VersionError::Stopped(Box::new(self.key().clone()))),
        }
    }
}

/// Chooses one of several versions. A single version need not have an order.
fn of_all(
    mut versions: Vec<String>,
    choose: impl FnOnce(std::vec::IntoIter<ResourceVersion>) -> Option<ResourceVersion>,
) -> Result<Option<String>, IncomparableVersion> {
    if versions.len() <= 1 {
        return Ok(versions.pop());
    }
    let parsed: Vec<ResourceVersion> =
        versions.iter().map(|version| version.parse()).collect::<Result<_, _>>()?;
    Ok(choose(parsed.into_iter()).map(|version| version.to_string()))
}
