//! Limits the Events that a plugin records about one object: client-go's spam filter (`EventSourceObjectSpamFilter`).
//!
//! 25 at once, and then one every five minutes; events that only raise a count included. A controller that fails in a loop
//! writes no more than that into etcd, whatever reason it gives.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use informer_types::{Gvr, ObjectKey, TokenBucket};
use parking_lot::Mutex;

use super::series::Key;

/// client-go's `defaultSpamBurst`.
const BURST: f64 = 25.0;

/// The interval of client-go's `defaultSpamQPS`.
const ONE_IN: Duration = Duration::from_secs(300);

/// client-go's `maxLruCacheEntries`. One more object forgets the object with the oldest event.
const REMEMBERED: usize = 4096;

/// The object and its UID: an object that was created again has a budget of its own.
type Regarding = (Gvr, ObjectKey, String);

/// The budgets of one plugin, by object.
#[derive(Debug, Default)]
pub(in crate::capabilities::client) struct SpamFilter(Mutex<HashMap<Regarding, TokenBucket>>);

// === impl SpamFilter ===

impl SpamFilter {
    /// Returns true if this event is to be written. It counts unless [`SpamFilter::give_back`] follows.
    pub(super) fn admits(&self, event: &Key, now: Instant) -> bool {
        let mut buckets = self.0.lock();
        let regarding = regarding(event);
        if !buckets.contains_key(&regarding) && buckets.len() >= REMEMBERED {
            forget_oldest(&mut buckets);
        }
        let new = || TokenBucket::new(ONE_IN.as_secs_f64().recip(), BURST);
        buckets.entry(regarding).or_insert_with(new).take(now)
    }

    /// Undoes the last [`SpamFilter::admits`]: the event was not written.
    pub(super) fn give_back(&self, event: &Key) {
        if let Some(bucket) = self.0.lock().get_mut(&regarding(event)) {
            bucket.add(1.0);
        }
    }
}

fn regarding(event: &Key) -> Regarding {
    (event.gvr.clone(), event.object.clone(), event.uid.clone())
}

fn forget_oldest(buckets: &mut HashMap<Regarding, TokenBucket>) {
    let oldest = buckets.iter().min_by_key(|(_, bucket)| bucket.last_used()).map(|(key, _)| key.clone());
    if let Some(oldest) = oldest {
        buckets.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::series::tests::key, *};

    fn admits(filter: &SpamFilter, name: &str, uid: &str, now: Instant) -> bool {
        filter.admits(
            &Key { object: ObjectKey::new("shop", name), uid: uid.to_owned(), ..key("ScaledUp") },
            now,
        )
    }

    #[test]
    fn twenty_five_events_of_an_object_are_written_at_once_and_then_one_in_five_minutes() {
        let (filter, start) = (SpamFilter::default(), Instant::now());

        assert_eq!((0..100).filter(|_| admits(&filter, "web", "1", start)).count(), 25);
        assert!(admits(&filter, "other", "2", start), "each object has its own budget");
        assert!(admits(&filter, "web", "3", start), "and so has an object that was created again");

        let later = start + ONE_IN - Duration::from_secs(1);
        assert!(!admits(&filter, "web", "1", later));
        assert_eq!((0..9).filter(|_| admits(&filter, "web", "1", start + 2 * ONE_IN)).count(), 2);
        let days_later = start + 1000 * ONE_IN;
        assert_eq!((0..100).filter(|_| admits(&filter, "web", "1", days_later)).count(), 25);
    }

    #[test]
    fn at_the_limit_the_object_that_was_quiet_for_longest_is_forgotten() {
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
