//! Series of repeated events.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use informer_types::{Gvr, ObjectKey};
use parking_lot::Mutex;

/// How long a series lasts without an event.
const SERIES: Duration = Duration::from_secs(10 * 60);

/// The most series remembered for a plugin. One more forgets the series that has been quiet for longest; its next event
/// starts a new one.
const REMEMBERED: usize = 1024;

/// Two events with the same key belong to one series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) gvr: Gvr,
    pub(super) object: ObjectKey,
    pub(super) uid: String,
    pub(super) warning: bool,
    pub(super) reason: String,
    pub(super) action: String,
}

#[derive(Clone, Debug)]
struct Series {
    key: Key,
    /// Name of the Event object.
    name: String,
    count: u32,
    last: Instant,
}

/// The series of one plugin. The most recent one is at the end.
#[derive(Debug, Default)]
pub(in crate::capabilities::client) struct EventSeries(Mutex<VecDeque<Series>>);

// === impl EventSeries ===

impl EventSeries {
    /// Counts one more event of a series. Returns the name of its Event and the new count, or `None` if there is no series.
    pub(super) fn again(&self, key: &Key, now: Instant) -> Option<(String, u32)> {
        let mut all = self.0.lock();
        all.retain(|series| now.saturating_duration_since(series.last) < SERIES);
        let at = all.iter().position(|series| series.key == *key)?;
        let mut series = all.remove(at)?;
        series.count = series.count.saturating_add(1);
        series.last = now;
        let again = (series.name.clone(), series.count);
        all.push_back(series);
        Some(again)
    }

    /// Undoes an [`EventSeries::again`] whose event was not written.
    pub(super) fn take_back(&self, key: &Key) {
        let mut all = self.0.lock();
        if let Some(series) = all.iter_mut().find(|series| series.key == *key) {
            // The count is 1 if another event has started the series anew meanwhile.
            series.count = series.count.saturating_sub(1).max(1);
        }
    }

    /// Starts a series. Replaces the series of the same key.
    pub(super) fn begin(&self, key: Key, name: String, now: Instant) {
        let mut all = self.0.lock();
        all.retain(|series| series.key != key);
        if all.len() >= REMEMBERED {
            all.pop_front();
        }
        all.push_back(Series { key, name, count: 1, last: now });
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn key(reason: &str) -> Key {
        Key {
            gvr: Gvr::new("", "v1", "pods"),
            object: ObjectKey::new("shop", "web"),
            uid: "1".to_owned(),
            warning: false,
            reason: reason.to_owned(),
            action: "Scaling".to_owned(),
        }
    }

    #[test]
    fn a_repeated_event_is_counted_until_ten_minutes_pass_without_one() {
        let (series, start) = (EventSeries::default(), Instant::now());
        let minutes = |minutes: u64| start + Duration::from_secs(60 * minutes);
        assert_eq!(series.again(&key("ScaledUp"), start), None);
        series.begin(key("ScaledUp"), "web.1".to_owned(), start);

        assert_eq!(series.again(&key("ScaledUp"), minutes(9)), Some(("web.1".to_owned(), 2)));
        assert_eq!(series.again(&key("ScaledDown"), minutes(9)), None, "another reason");
        assert_eq!(series.again(&key("ScaledUp"), minutes(18)), Some(("web.1".to_owned(), 3)));
        series.take_back(&key("ScaledUp"));
        series.take_back(&key("ScaledDown"));
        assert_eq!(
            series.again(&key("ScaledUp"), minutes(18)),
            Some(("web.1".to_owned(), 3)),
            "one was not written"
        );
        assert_eq!(series.again(&key("ScaledUp"), minutes(28)), None, "ten minutes of silence");
    }

    #[test]
    fn a_bounded_number_of_series_is_remembered() {
        let (series, start) = (EventSeries::default(), Instant::now());
        for index in 0..=REMEMBERED {
            series.begin(key(&format!("R{index}")), format!("web.{index}"), start);
        }

        assert_eq!(series.0.lock().len(), REMEMBERED);
        assert_eq!(series.again(&key("R0"), start), None);
        assert!(series.again(&key("R1"), start).is_some());
    }
}
