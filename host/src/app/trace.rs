//! The last steps of the objects, kept for `informer explain`.
//!
//! A step is kept in the bucket of its object's name, and each bucket is a ring: an object that changes all the time pushes
//! out its own past and that of the few in the same bucket, and nobody else's. There is no table of objects to maintain, so
//! a step costs a hash, a look at the clock and one short lock, and nothing is allocated for it.
//!
//! What is kept is names, versions and numbers; of a failure, the first words of what the plugin says. Never an object.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    num::NonZeroUsize,
    time::SystemTime,
};

use informer_types::{Gvr, ObjectKey, TraceSink, Traced};
use parking_lot::Mutex;

/// Enough for the attempts of one notification for a handful of plugins.
const BUCKET: usize = 128;

/// Steps of all objects, the newest of each bucket.
///
/// # Bound
/// As many steps as it was made for, rounded up to whole buckets: 160 bytes each, besides names, which the cache shares as
/// long as the objects exist, and 256 bytes of each failure. A key of a plugin's own has no more than an object's name has,
/// 507 bytes. Who makes up many keys pushes out what others would ask for, as many objects do; nothing else.
#[derive(Debug)]
pub(crate) struct Trace {
    buckets: Box<[Mutex<VecDeque<Recorded>>]>,
    hasher: RandomState,
}

/// A step, and when it was taken.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) at: SystemTime,
    pub(crate) traced: Traced,
}

// === impl Trace ===

impl Trace {
    pub(crate) fn new(steps: NonZeroUsize) -> Self {
        let buckets = steps.get().div_ceil(BUCKET);
        Self { buckets: (0..buckets).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }

    /// What is kept of one object, and of the keys of its name in the plugins' own workqueues, the oldest first.
    pub(crate) fn of(&self, gvr: &Gvr, key: &ObjectKey) -> Vec<Recorded> {
        let bucket = self.bucket(key).lock();
        let own = |step: &&Recorded| {
            step.traced.key == *key && step.traced.source.as_ref().is_none_or(|source| source.gvr() == gvr)
        };
        bucket.iter().filter(own).cloned().collect()
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "there is one bucket at least, and the remainder is below their number"
    )]
    fn bucket(&self, key: &ObjectKey) -> &Mutex<VecDeque<Recorded>> {
        // Objects of two resources under one name are told apart by who looks.
        let hash = self.hasher.hash_one(key);
        &self.buckets[(hash % self.buckets.len() as u64) as usize]
    }
}

impl TraceSink for Trace {
    fn record(&self, traced: Traced) {
        let mut bucket = self.bucket(&traced.key).lock();
        // Within the lock, so that the order is that of the times.
        let at = SystemTime::now();
        let oldest = if bucket.len() < BUCKET { None } else { bucket.pop_front() };
        bucket.push_back(Recorded { at, traced });
        drop(bucket);
        drop(oldest);
    }
}

#[cfg(test)]
mod tests;
