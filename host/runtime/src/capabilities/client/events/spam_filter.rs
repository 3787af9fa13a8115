//! How many Events a plugin may record about one object: client-go's spam filter (`EventSourceObjectSpamFilter`).
//!
//! Twenty-five at once, and one each five minutes after that, those that only raise a count included. A controller that
//! fails in a loop writes no more than that into etcd, whatever it gives as the reason.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use informer_types::{Gvr, ObjectKey};
use parking_lot::Mutex;

/// client-go's `defaultSpamBurst`.
const BURST: f64 = 25.0;

/// client-go's `defaultSpamQPS` is one in so long.
const ONE_IN: Duration = Duration::from_secs(300);

/// client-go's `maxLruCacheEntries`. Of more objects, the one with the oldest event begins anew.
const REMEMBERED: usize = 4096;

/// The object and its UID: one that was made again is another.
type Regarding = (Gvr, ObjectKey, String);

/// The budgets of one plugin, by object.
#[derive(Debug, Default)]
pub(in crate::capabilities::client) struct SpamFilter(Mutex<HashMap<Regarding, Bucket>>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    last: Instant,
}

// === impl SpamFilter ===

impl SpamFilter {
    /// True where this event is to be written; it is counted by that, unless it is given back.
    pub(in crate::capabilities::client) fn admits(
        &self,
        gvr: &Gvr,
        object: &ObjectKey,
        uid: &str,
        now: Instant,
    ) -> bool {
        let mut buckets = self.0.lock();
        let regarding = (gvr.clone(), object.clone(), uid.to_owned());
        if !buckets.contains_key(&regarding) && buckets.len() >= REMEMBERED {
            make_room(&mut buckets);
        }
        let bucket = buckets.entry(regarding).or_insert(Bucket { tokens: BURST, last: now });
        let refill = now.saturating_duration_since(bucket.last).as_secs_f64() / ONE_IN.as_secs_f64();
        bucket.tokens = (bucket.tokens + refill).min(BURST);
        bucket.last = now;
        let admitted = bucket.tokens >= 1.0;
        if admitted {
            bucket.tokens -= 1.0;
        }
        admitted
    }

    /// The event that was admitted was not written.
    pub(in crate::capabilities::client) fn give_back(&self, gvr: &Gvr, object: &ObjectKey, uid: &str) {
        let regarding = (gvr.clone(), object.clone(), uid.to_owned());
        if let Some(bucket) = self.0.lock().get_mut(&regarding) {
            bucket.tokens = (bucket.tokens + 1.0).min(BURST);
        }
    }
}

fn make_room(buckets: &mut HashMap<Regarding, Bucket>) {
    let oldest = buckets.iter().min_by_key(|(_, bucket)| bucket.last).map(|(regarding, _)| regarding.clone());
    if let Some(oldest) = oldest {
        buckets.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(filter: &SpamFilter, name: &str, uid: &str, now: Instant) -> bool {
        filter.admits(&Gvr::new("", "v1", "pods"), &ObjectKey::new("shop", name), uid, now)
    }

    #[test]
    fn of_one_object_twenty_five_are_written_at_once_and_then_one_in_five_minutes() {
        let (filter, start) = (SpamFilter::default(), Instant::now());

        assert_eq!((0..100).filter(|_| admits(&filter, "web", "1", start)).count(), 25);
        assert!(admits(&filter, "other", "2", start), "each object has its own");
        assert!(admits(&filter, "web", "3", start), "and so has one that was made again");

        let later = start + ONE_IN - Duration::from_secs(1);
        assert!(!admits(&filter, "web", "1", later));
        assert_eq!((0..9).filter(|_| admits(&filter, "web", "1", start + 2 * ONE_IN)).count(), 2);
        let days_later = start + 1000 * ONE_IN;
        assert_eq!((0..100).filter(|_| admits(&filter, "web", "1", days_later)).count(), 25);
    }

    #[test]
    fn a_bounded_number_of_objects_is_remembered_those_that_are_quiet_for_longest_go() {
        let (filter, start) = (SpamFilter::default(), Instant::now());
        while admits(&filter, "first", "1", start) {}
        for number in 0..REMEMBERED {
            let now = start + Duration::from_micros(number as u64 + 1);
            admits(&filter, &number.to_string(), "1", now);
        }

        assert_eq!(filter.0.lock().len(), REMEMBERED);
        assert!(admits(&filter, "first", "1", start + Duration::from_secs(1)), "it was forgotten");
    }
}
