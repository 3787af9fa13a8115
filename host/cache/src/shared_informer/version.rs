//! How far the cache has come, in the server's own counting.

use futures::future::try_join_all;

use super::SharedInformer;
use crate::{IncomparableVersion, ResourceVersion};

/// Why the cache did not come to hold a resource version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The server's resource versions have no order.
    #[error(transparent)]
    Incomparable(#[from] IncomparableVersion),
    /// The informer stopped before.
    #[error("the informer of {0} stopped before its cache had the resource version")]
    Stopped(Box<crate::InformerKey>),
}

// === impl SharedInformer ===

impl SharedInformer {
    /// The resource version that the cache holds at least: of the last list, event or bookmark that was applied
    /// (I-11). Of several namespaces it is the oldest. None before the first list.
    ///
    /// # Errors
    /// [`IncomparableVersion`] where several namespaces are watched and the server's versions have no order.
    pub fn last_synced_version(&self) -> Result<Option<String>, IncomparableVersion> {
        let applied: Vec<String> = self.inner.cells.iter().map(|cell| cell.applied_version()).collect();
        if applied.iter().any(String::is_empty) {
            return Ok(None);
        }
        of_all(applied, |versions| versions.min())
    }

    /// The newest resource version of which the cache holds anything: nothing that its listeners were told is newer. It is
    /// [`last_synced_version`](Self::last_synced_version), but of several namespaces the newest; none before the first
    /// list of the first.
    ///
    /// # Errors
    /// As `last_synced_version`.
    pub fn newest_applied_version(&self) -> Result<Option<String>, IncomparableVersion> {
        let applied = self.inner.cells.iter().map(|cell| cell.applied_version());
        of_all(applied.filter(|version| !version.is_empty()).collect(), |versions| versions.max())
    }

    /// Waits until the cache holds at least the state of this resource version: whoever wrote an object, and
    /// was answered with its new resource version, reads its own write after it. Of several namespaces it waits
    /// for the one named, or for all.
    ///
    /// An object the informer's selectors leave out moves the cache no further; then the next bookmark does,
    /// after about a minute. A version the server never had is waited for until the informer stops: give the
    /// wait a time of your own.
    ///
    /// # Errors
    /// [`VersionError::Incomparable`] where `resource_version`, or what the server sends, is no decimal integer;
    /// every Kubernetes API server since 1.35 sends those.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_for_version(
        &self,
        resource_version: &str,
        namespace: Option<&str>,
    ) -> Result<(), VersionError> {
        let wanted: ResourceVersion = resource_version.parse()?;
        let namespace = namespace.filter(|_| self.inner.cells.len() > 1);
        let cells = self.inner.cells.iter();
        let cells = cells.filter(|cell| namespace.is_none_or(|wanted| cell.namespace() == Some(wanted)));
        let reached = |version: &str| match version {
            "" => None,
            version => match version.parse::<ResourceVersion>() {
                Ok(version) => (version >= wanted).then_some(Ok(())),
                Err(incomparable) => Some(Err(incomparable)),
            },
        };
        tokio::select! {
            biased;
            applied = try_join_all(cells.map(|cell| cell.wait_applied(reached))) => {
                applied?;
                Ok(())
            }
            () = self.inner.ended.cancelled() => Err(VersionError::Stopped(Box::new(self.key().clone()))),
        }
    }
}

/// One of several versions. Of a single one no order is asked.
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
