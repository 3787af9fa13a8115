//! Adapters: what `runtime` asks for, answered by `cache`; what a subscription wants, before the queue.

use std::{collections::BTreeMap, sync::Arc};

use informer_cache::{ListQuery, Lister};
use informer_runtime::capabilities::{ListError, ListerQuery, ListerSource};
use informer_types::{Cause, Change, Gvr, Notification, NotificationSink, Object, ObjectKey};

use crate::config::Events;

/// The host's caches, as the `lister` capability reads them.
#[derive(Debug, Default)]
pub(crate) struct CacheLister(BTreeMap<Gvr, Lister>);

/// Keeps what a subscription did not ask for out of the plugin's queue.
pub(crate) struct SubscriptionFilter<S> {
    events: Events,
    initial: bool,
    sink: S,
}

// === impl CacheLister ===

impl CacheLister {
    pub(crate) fn new(listers: impl IntoIterator<Item = (Gvr, Lister)>) -> Self {
        Self(listers.into_iter().collect())
    }
}

impl ListerSource for CacheLister {
    fn get(&self, gvr: &Gvr, key: &ObjectKey) -> Result<Option<Arc<Object>>, ListError> {
        let lister = self.0.get(gvr).ok_or_else(|| ListError::UnknownResource(gvr.clone()))?;
        Ok(lister.get(key))
    }

    fn list(&self, gvr: &Gvr, query: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError> {
        let lister = self.0.get(gvr).ok_or_else(|| ListError::UnknownResource(gvr.clone()))?;
        let query = ListQuery { namespace: query.namespace, labels: query.labels, index: query.index };
        lister.list(&query).map_err(|unknown| ListError::UnknownIndex(unknown.to_string()))
    }

    fn has_synced(&self, gvr: &Gvr) -> Result<bool, ListError> {
        let lister = self.0.get(gvr).ok_or_else(|| ListError::UnknownResource(gvr.clone()))?;
        Ok(lister.has_synced())
    }
}

// === impl SubscriptionFilter ===

impl<S: NotificationSink> SubscriptionFilter<S> {
    /// `events` and `initial` of one `[[plugin.on]]`.
    pub(crate) fn new(events: Events, initial: bool, sink: S) -> Self {
        Self { events, initial, sink }
    }

    fn wants(&self, notification: &Notification) -> bool {
        if !self.initial && notification.cause == Cause::Initial {
            return false;
        }
        match notification.change {
            Change::Added { .. } => self.events.add,
            Change::Updated { .. } => self.events.update,
            Change::Deleted { .. } => self.events.delete,
        }
    }
}

impl<S: NotificationSink> NotificationSink for SubscriptionFilter<S> {
    fn offer(&self, notification: Notification) {
        if self.wants(&notification) {
            self.sink.offer(notification);
        }
    }
}
