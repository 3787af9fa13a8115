//! Targets that another client or a webhook changes back each time the plugin writes them. Each write leads to a notification, so
//! the plugin would write such a target without end, and would have no requests left for other targets.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};

/// The most writes of one target for one version of its source within [`PERIOD`].
const MOST: u32 = 5;

const PERIOD: SignedDuration = SignedDuration::from_mins(10);

/// The targets that were written again although their source did not change. Each instance of the plugin counts its own writes.
#[derive(Debug, Default)]
pub(crate) struct Contested(BTreeMap<String, Writes>);

#[derive(Debug)]
struct Writes {
    /// The version of the source.
    version: String,
    first: Timestamp,
    count: u32,
}

// === impl Contested ===

impl Contested {
    /// Returns the time to wait if there were too many writes of the target for this version of its source.
    pub(crate) fn wait(&self, target: &str, version: &str, now: Timestamp) -> Option<Duration> {
        let writes = self.0.get(target).filter(|writes| writes.version == version && writes.count >= MOST);
        writes.and_then(|writes| writes.rest(now))
    }

    /// Counts a repeated write of a target for the same version of its source.
    pub(crate) fn count(&mut self, target: &str, version: &str, now: Timestamp) {
        self.0.retain(|_, writes| writes.rest(now).is_some());
        match self.0.get_mut(target).filter(|writes| writes.version == version) {
            Some(writes) => writes.count += 1,
            None => {
                let writes = Writes { version: version.to_owned(), first: now, count: 1 };
                self.0.insert(target.to_owned(), writes);
            }
        }
    }
}

// === impl Writes ===

impl Writes {
    /// The rest of the period. Returns `None` if the period is over, or if the clock was set back.
    fn rest(&self, now: Timestamp) -> Option<Duration> {
        let passed = now.duration_since(self.first);
        let is_recent = (SignedDuration::ZERO..PERIOD).contains(&passed);
        is_recent.then(|| Duration::try_from(PERIOD - passed).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writes_of_one_target_for_one_version_are_limited_within_a_period() {
        let at = |time: &str| format!("2026-05-01T{time}Z").parse::<Timestamp>().unwrap();
        let mut contested = Contested::default();
        for _ in 0..MOST {
            assert_eq!(contested.wait("a", "7", at("12:00:00")), None);
            contested.count("a", "7", at("12:00:00"));
        }
        assert_eq!(contested.wait("a", "7", at("12:01:00")), Some(Duration::from_secs(9 * 60)));
        assert_eq!(contested.wait("b", "7", at("12:01:00")), None, "another target");
        assert_eq!(contested.wait("a", "8", at("12:01:00")), None, "another version of the source");
        assert_eq!(contested.wait("a", "7", at("11:00:00")), None, "the clock was set back");
        assert_eq!(contested.wait("a", "7", at("12:10:00")), None, "the period is over");

        contested.count("b", "7", at("12:10:00"));
        assert_eq!(contested.0.len(), 1, "old writes are forgotten");
    }
}
