//! What has changed for a workload: the hashes of its sources now, compared with its markers and with the memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    kind::SourceId,
    marker::{Change, Markers, variable},
    memory::{Memory, UNKNOWN},
    source::NOTHING,
};

/// The most deleted sources of one roll. The plugin confirms each deletion with a request to the API server, and by default a plugin makes
/// 20 requests a second. A call with many more requests would fail each time.
const MOST_DELETIONS: usize = 100;

/// The most absent sources that stay in the memory when a workload begins to choose its sources in another way. The names of generated
/// ConfigMaps change with each version of a workload, and without this limit the memory would keep all of the names.
const MOST_ABSENT: usize = 100;

/// A source that the workload chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) source: SourceId,
    /// `None` if the data cannot be read now.
    pub(crate) hash: Option<String>,
    /// The index of the container that the marker belongs to.
    pub(crate) container: usize,
}

/// The sources of a workload. Each one is looked up in the cache once, because it may disappear or return at any time.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) chosen: Vec<Chosen>,
    /// The hashes of the sources that the cache has, and that the workload does not choose because of `ignore`, a missing `match`, or an
    /// exclusion.
    pub(crate) unchosen: BTreeMap<SourceId, String>,
    /// The sources that the memory or the markers name and the cache lacks, if the workload would choose them.
    pub(crate) missing: BTreeSet<SourceId>,
}

/// What counts besides changed data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) creations: bool,
    pub(crate) deletions: bool,
    /// If true, a marker with the present hash wins over the memory. It is false for a workload from the cache, whose markers may
    /// be older than the memory.
    pub(crate) markers: bool,
}

/// The result of the comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) changes: Vec<Change>,
    /// The memory before the roll.
    pub(crate) memory: Memory,
}

// === impl Plan ===

impl Plan {
    /// Compares the present hashes with the markers and with `before`, the memory of the workload. `is_deleted` returns true if a
    /// source does not exist any more; it is called only if deletions count.
    pub(crate) fn new<E>(
        (uid, scope): (String, String),
        Sources { chosen, unchosen, missing }: &Sources,
        markers: &Markers,
        before: Option<&Memory>,
        counts: Counts,
        is_deleted: impl Fn(&SourceId) -> Result<bool, E>,
    ) -> Result<Self, E> {
        let before = before.filter(|before| before.uid == uid);
        let is_same_scope = before.is_some_and(|before| before.scope == scope);
        // If a workload begins to choose a source, its pods may be newer than a marker of this source. After a migration or a loss of the
        // state, there is no memory, and only the markers say what the pods have read.
        let adopts_markers = before.is_none() || is_same_scope;
        let remembered = |source: &SourceId| before.and_then(|before| before.last_seen(source));
        let outdated = |source: &SourceId| before.and_then(|before| before.outdated.get(source));
        let kept = before.map(Memory::without_sources).unwrap_or_default();
        let memory = Memory { uid, scope, unchosen: unchosen.clone(), ..kept };
        let mut plan = Self { memory, ..Self::default() };
        for one in chosen {
            let Chosen { source, hash, container } = one;
            let kept = remembered(source);
            let marked = markers.of(source);
            let own =
                || marked.iter().find(|marked| **marked != NOTHING && !is_of_other(marked, one, chosen));
            // A roll for other sources replaces the annotation with all markers, so the memory keeps the marker of this source.
            let adopted = kept.map(String::as_str).or_else(|| adopts_markers.then(own).flatten().copied());
            let Some(hash) = hash else {
                plan.keep(source, adopted);
                continue;
            };
            let outdated = outdated(source);
            let is_marked = marked.contains(&hash.as_str())
                && outdated != Some(hash)
                && (counts.markers || kept.is_none());
            let is_unknown = kept.is_some_and(|kept| kept == UNKNOWN);
            if !is_unknown && (kept == Some(hash) || is_marked) {
                plan.keep_read(source, hash, &marked);
                continue;
            }
            let is_created = kept.is_none() && is_same_scope && counts.creations;
            if adopted.is_some() || is_created {
                plan.keep(source, adopted);
                plan.memory.outdated.extend(outdated.map(|outdated| (source.clone(), outdated.clone())));
                let (source, hash) = (source.clone(), Some(hash.clone()));
                plan.changes.push(Change { source, hash, container: *container });
            } else {
                // The workload is seen with this source for the first time.
                plan.keep_read(source, hash, &marked);
            }
        }
        plan.compare_missing(missing, markers, before, counts, is_deleted)?;
        Ok(plan)
    }

    /// Compares the sources that the cache lacks. The memory of this plan already has the identity of the workload.
    fn compare_missing<E>(
        &mut self,
        missing: &BTreeSet<SourceId>,
        markers: &Markers,
        before: Option<&Memory>,
        counts: Counts,
        is_deleted: impl Fn(&SourceId) -> Result<bool, E>,
    ) -> Result<(), E> {
        let is_of_other_scope = before.is_some_and(|before| before.scope != self.memory.scope);
        let most = if is_of_other_scope { MOST_ABSENT } else { usize::MAX };
        for source in missing.iter().take(most) {
            let marked = markers.of(source);
            let adopted = marked.iter().find(|marked| **marked != NOTHING).filter(|_| before.is_none());
            let remembered = before.and_then(|before| before.hashes.get(source)).map(String::as_str);
            // The hash stays, because the source may return with other data. This is also possible while the workload begins to choose
            // its sources in another way.
            let Some(hash) = remembered.or(adopted.copied()) else { continue };
            let outdated = before.and_then(|before| before.outdated.get(source));
            let is_deleted = counts.deletions && !self.is_full() && is_deleted(source)?;
            let is_rolled = marked.contains(&NOTHING) && outdated.is_none_or(|outdated| outdated != NOTHING);
            if is_deleted && (is_rolled || is_of_other_scope) {
                continue;
            }
            self.keep(source, Some(hash));
            self.memory.outdated.extend(outdated.map(|outdated| (source.clone(), outdated.clone())));
            if is_deleted {
                self.changes.push(Change { source: source.clone(), hash: None, container: 0 });
            }
        }
        Ok(())
    }

    /// Returns true if the plan has the most deletions of one roll. The workload must then be compared again after the roll, because
    /// further sources may be gone.
    pub(crate) fn is_full(&self) -> bool {
        self.changes.iter().filter(|change| change.hash.is_none()).count() >= MOST_DELETIONS
    }

    fn keep(&mut self, source: &SourceId, hash: Option<&str>) {
        if let Some(hash) = hash {
            self.memory.hashes.insert(source.clone(), hash.to_owned());
        }
    }

    /// Remembers the content that the pods have read, and a marker of other content, which does not describe them.
    fn keep_read(&mut self, source: &SourceId, hash: &str, marked: &[&str]) {
        self.keep(source, Some(hash));
        if let Some(other) = marked.first().filter(|_| !marked.contains(&hash)) {
            self.memory.outdated.insert(source.clone(), (*other).to_owned());
        }
    }

    /// The memory after the roll.
    pub(crate) fn after(&self) -> Memory {
        let changed = self.changes.iter().map(|change| (&change.source, change.hash.as_ref()));
        self.memory.rolled(changed)
    }

    /// The hashes of all sources after the roll, for the marker that holds all of them.
    pub(crate) fn hashes(&self) -> BTreeMap<SourceId, String> {
        let mut hashes = self.memory.hashes.clone();
        let changed = self.changes.iter().map(|change| (change.source.clone(), change.marked().to_owned()));
        hashes.extend(changed);
        hashes
    }
}

/// Returns true if the marker belongs to another source whose variable has the same name. The variables of `a.b` and `a-b` have
/// the same name, for example.
fn is_of_other(marked: &str, own: &Chosen, chosen: &[Chosen]) -> bool {
    let name = variable(&own.source);
    chosen.iter().any(|other| {
        other.source != own.source && other.hash.as_deref() == Some(marked) && variable(&other.source) == name
    })
}

#[cfg(test)]
mod tests;
