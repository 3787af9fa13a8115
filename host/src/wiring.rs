//! Adapters: what `runtime` asks for, answered by `cache`.

use std::{collections::BTreeMap, sync::Arc};

use futures::future::BoxFuture;
use informer_cache::{ListQuery, Lister, SharedInformer};
use informer_runtime::capabilities::{ListError, ListerQuery, ListerSource};
use informer_types::{Gvr, Object, ObjectKey};

/// The host's caches, as the `lister` capability reads them.
#[derive(Debug, Default)]
pub(crate) struct CacheLister(BTreeMap<Gvr, Cache>);

#[derive(Debug)]
struct Cache {
    lister: Lister,
    informer: SharedInformer,
}

// === impl CacheLister ===

impl CacheLister {
    pub(crate) fn new(informers: impl IntoIterator<Item = (Gvr, SharedInformer)>) -> Self {
        let cache = |informer: SharedInformer| Cache { lister: informer.lister(), informer };
        Self(informers.into_iter().map(|(gvr, informer)| (gvr, cache(informer))).collect())
    }

    fn of(&self, gvr: &Gvr) -> Result<&Cache, ListError> {
        self.0.get(gvr).ok_or_else(|| ListError::UnknownResource(gvr.clone()))
    }
}

impl ListerSource for CacheLister {
    fn get(&self, gvr: &Gvr, key: &ObjectKey) -> Result<Option<Arc<Object>>, ListError> {
        Ok(self.of(gvr)?.lister.get(key))
    }

    fn list(&self, gvr: &Gvr, query: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError> {
        let lister = &self.of(gvr)?.lister;
        let query = ListQuery { namespace: query.namespace, labels: query.labels, index: query.index };
        lister.list(&query).map_err(|unknown| ListError::UnknownIndex(unknown.to_string()))
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
            let waited = self.of(gvr)?.informer.wait_for_version(resource_version, namespace).await;
            waited.map_err(|error| ListError::InvalidVersion(error.to_string()))
        })
    }
}
