//! Adapters between the crates: the listers of the cache for `runtime`, and the calls of `runtime` for `dispatch`.

mod calls;
mod ending;
mod enqueues;
mod repeats;
mod signals;
mod timers;
mod witness;

use std::{collections::BTreeMap, sync::Arc};

use futures::future::BoxFuture;
use informer_cache::{ListQuery, Lister, SharedInformer, ValueQuery};
use informer_runtime::capabilities::{CacheState, IndexPage, ListError, ListerQuery, ListerSource};
use informer_types::{Gvr, Object, ObjectKey};
use parking_lot::RwLock;

pub(crate) use calls::Calls;
pub(crate) use ending::Ending;
pub(crate) use enqueues::Enqueues;
pub(crate) use repeats::Repeats;
pub(crate) use signals::{Selections, SignalCalls};
pub(crate) use timers::Timers;
pub use witness::Witness;
pub(crate) use witness::{WitnessSlot, WitnessedClient};

/// The host's caches, as the `lister` capability reads them.
#[derive(Debug, Default)]
pub(crate) struct CacheLister(RwLock<BTreeMap<Gvr, Arc<Cache>>>);

#[derive(Debug)]
struct Cache {
    lister: Lister,
    informer: SharedInformer,
}

// === impl CacheLister ===

impl CacheLister {
    /// Replaces the caches that the plugin can read.
    pub(crate) fn set(&self, informers: impl IntoIterator<Item = (Gvr, SharedInformer)>) {
        let cache = |informer: SharedInformer| Arc::new(Cache { lister: informer.lister(), informer });
        *self.0.write() = informers.into_iter().map(|(gvr, informer)| (gvr, cache(informer))).collect();
    }

    fn of(&self, gvr: &Gvr) -> Result<Arc<Cache>, ListError> {
        self.0.read().get(gvr).cloned().ok_or_else(|| ListError::UnknownResource(gvr.clone()))
    }
}

impl ListerSource for CacheLister {
    fn get(&self, gvr: &Gvr, key: &ObjectKey) -> Result<Option<Arc<Object>>, ListError> {
        Ok(self.of(gvr)?.lister.get(key))
    }

    fn list(&self, gvr: &Gvr, query: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError> {
        let cache = self.of(gvr)?;
        let lister = &cache.lister;
        let query = ListQuery { namespace: query.namespace, labels: query.labels, index: query.index };
        lister.list(&query).map_err(|unknown| ListError::UnknownIndex(unknown.to_string()))
    }

    fn index_values(&self, gvr: &Gvr, page: &IndexPage<'_>) -> Result<Vec<(String, usize)>, ListError> {
        let IndexPage { index, namespaces, after, limit } = *page;
        let query = ValueQuery { index, namespaces, after, limit };
        let found = self.of(gvr)?.lister.index_values(&query);
        found.map_err(|unknown| ListError::UnknownIndex(unknown.to_string()))
    }

    fn state(&self, gvr: &Gvr) -> Result<CacheState, ListError> {
        let Cache { lister, informer } = &*self.of(gvr)?;
        Ok(CacheState {
            synced: lister.has_synced(),
            resource_version: informer.last_synced_version().ok().flatten().unwrap_or_default(),
            age: informer.data_age(),
        })
    }

    fn has_synced(&self, gvr: &Gvr) -> Result<bool, ListError> {
        Ok(self.of(gvr)?.lister.has_synced())
    }

    fn wait_until<'a>(
        &'a self,
        gvr: &'a Gvr,
        namespace: Option<&'a str>,
        resource_version: &'a str,
    ) -> BoxFuture<'a, Result<(), ListError>> {
        Box::pin(async move {
            let cache = self.of(gvr)?;
            let waited = cache.informer.wait_for_version(resource_version, namespace).await;
            waited.map_err(|error| ListError::InvalidVersion(error.to_string()))
        })
    }
}
