//! The newest steps of objects, for `informer explain`.
//!
//! The hash of an object's name chooses a bucket for its steps, and each bucket is a ring: an object that changes all the time
//! replaces the old steps of itself and of the few objects in the same bucket. There is no table of objects to maintain: a
//! step costs a hash, a look at the clock and one short lock, and allocates nothing.
//!
//! A step has names, versions, numbers and the first words of a failure. It never has an object.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    num::NonZeroUsize,
    time::SystemTime,
};

use informer_types::{Gvr, ObjectKey, TraceSink, Traced};
use parking_lot::Mutex;

/// Steps in a bucket: enough for the attempts of one notification for a handful of plugins.
const BUCKET: usize = 128;

/// The newest steps of each bucket.
///
/// # Bound
/// The number of steps is rounded up to whole buckets. A step has 160 bytes, at most 256 bytes of a failure, and names, which it
/// shares with the cache while the object exists. A name keeps at most 512 bytes of the object's header in memory. A plugin's own
/// key has at most 507 bytes, like the name of an object. A plugin with many keys can replace the steps of others, as many objects
/// can.
#[derive(Debug)]
pub(crate) struct Trace {
    buckets: Box<[Mutex<VecDeque<Recorded>>]>,
    hasher: RandomState,
}

/// A step with its time.
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

    /// The steps of one object, and of the plugins' own keys with its name, the oldest first.
    pub(crate) fn of(&self, gvr: &Gvr, key: &ObjectKey) -> Vec<Recorded> {
        let bucket = self.bucket(key).lock();
        let own = |step: &&Recorded| {
            step.traced.key == *key && step.traced.source.as_ref().is_none_or(|source| source.gvr() == gvr)
        };
        bucket.iter().filter(own).cloned().collect()
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "there is at least one bucket, and the remainder is below the number of buckets"
    )]
    fn bucket(&self, key: &ObjectKey) -> &Mutex<VecDeque<Recorded>> {
        // Objects of several resources with one name share a bucket; `of` distinguishes them.
        let hash = self.hasher.hash_one(key);
        &self.buckets[(hash % self.buckets.len() as u64) as usize]
    }
}

impl TraceSink for Trace {
    fn record(&self, traced: Traced) {
        let mut bucket = self.bucket(&traced.key).lock();
        // The clock is read under the lock, so that the steps are in the order of their times.
        let at = SystemTime::now();
        let oldest = if bucket.len() < BUCKET { None } else { bucket.pop_front() };
        bucket.push_back(Recorded { at, traced });
        drop(bucket);
        drop(oldest);
    }
}

#[cfg(test)]
mod tests;
