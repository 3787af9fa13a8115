//! What the plugin remembers of each workload in its key-value state.
//!
//! The markers of a workload say what it was rolled for. The memory says which data a workload started with, so that a change is
//! found even if it happens while the host is down, and an unchanged source rolls nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    kind::{SourceId, Workload},
    store::{self, Unavailable},
};

/// The hash of a source whose content in the pods is not known. No real source has this hash.
pub(crate) const UNKNOWN: &str = "?";

/// The memory of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// The UID of the workload that this memory describes. A new workload of the same name has another UID.
    pub(crate) uid: String,
    /// A digest of the annotations, references and settings that choose sources. If a source appears and the digest has not changed, the
    /// source was created. If the digest has changed, the workload may have begun to choose an existing source.
    pub(crate) scope: String,
    /// The hash that each source had when the workload was first seen, or was last rolled for it.
    pub(crate) hashes: BTreeMap<SourceId, String>,
    /// The present hashes of the sources that the workload does not choose because of `ignore`, a missing `match`, or an exclusion. When
    /// the workload begins to choose such a source, the source counts as changed only if its data changes at the same time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) unchosen: BTreeMap<SourceId, String>,
    /// Markers of other content than the pods have read: a rollback restored the marker with an older template, or a deleted source
    /// was created again. Such a marker does not describe the pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) outdated: BTreeMap<SourceId, String>,
    /// The number of rolls. The name of the next Job of a CronJob depends on it.
    #[serde(default)]
    pub(crate) rolls: u64,
    /// The time at which the memory of a CronJob began, in seconds since 1970. After a loss of the state, the number of rolls begins at 0
    /// again. The names of the next Jobs still differ from the names of earlier Jobs, because they also depend on this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<i64>,
    /// The time at which the plugin first found the present changes, in milliseconds since 1970. `None` if there are no changes, or if
    /// there is no settle time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changed_at: Option<i64>,
    /// The roll that was begun, until its end is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<Attempt>,
    /// The Job that must be created, because the plugin deletes the one with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recreate: Option<Value>,
}

/// A roll that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    /// The sources that changed, with their hashes. A source without a hash was deleted.
    pub(crate) changes: BTreeMap<SourceId, Option<String>>,
    /// A digest of the pod template before the roll.
    pub(crate) template: String,
}

// === impl Memory ===

impl Memory {
    /// Returns `None` also if the memory does not parse. The next reconciliation writes a new one.
    pub(crate) fn read(workload: &Workload) -> Result<Option<Self>, Unavailable> {
        Ok(store::get(&workload.to_string())?.and_then(|kept| serde_json::from_slice(&kept).ok()))
    }

    /// Writes the memory if it differs from `before`.
    pub(crate) fn write(&self, workload: &Workload, before: Option<&Self>) -> Result<(), Unavailable> {
        if before == Some(self) {
            return Ok(());
        }
        store::set(&workload.to_string(), &serde_json::to_vec(self).unwrap_or_default())
    }

    /// The hash that this memory has for a source.
    pub(crate) fn last_seen(&self, source: &SourceId) -> Option<&String> {
        self.hashes.get(source).or_else(|| self.unchosen.get(source))
    }

    /// A memory with the number of rolls and the times of this memory, and without sources.
    pub(crate) fn without_sources(&self) -> Self {
        let Self { rolls, since, changed_at, .. } = *self;
        Self { rolls, since, changed_at, ..Self::default() }
    }

    /// The memory of a workload that exists, and that no source may roll any more.
    pub(crate) fn of_a_left_workload(&self) -> Self {
        Self { uid: self.uid.clone(), changed_at: None, ..self.without_sources() }
    }

    /// The memory after a roll for these sources. A source without a hash was deleted.
    pub(crate) fn rolled<'a>(
        &self,
        changes: impl IntoIterator<Item = (&'a SourceId, Option<&'a String>)>,
    ) -> Self {
        let mut memory = Self { attempt: None, changed_at: None, ..self.clone() };
        let before = memory.rolls;
        for (source, hash) in changes {
            memory.rolls = before.saturating_add(1);
            memory.outdated.remove(source);
            match hash {
                Some(hash) => memory.hashes.insert(source.clone(), hash.clone()),
                None => memory.hashes.remove(source),
            };
        }
        memory
    }

    pub(crate) fn forget(workload: &Workload) -> Result<(), Unavailable> {
        let key = workload.to_string();
        if store::get(&key)?.is_some() { store::delete(&key) } else { Ok(()) }
    }
}
