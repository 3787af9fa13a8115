//! The end of grants that were revoked.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::Grants;

/// The value of [`Revocation::at`] while none of the grants is revoked.
const UNSET: u64 = u64::MAX;

/// The time after which the instances of one configuration must not run. It is unset while none of their grants is revoked.
#[derive(Debug)]
pub(crate) struct Revocation {
    made: Instant,
    /// The time, in nanoseconds after `made`.
    at: AtomicU64,
}

/// The grants of the living instances of a plugin.
#[derive(Default)]
pub(crate) struct Grantees(Mutex<Vec<(Grants, Weak<Revocation>)>>);

// === impl Revocation ===

impl Revocation {
    /// Returns true once a grant was revoked.
    pub(crate) fn is_set(&self) -> bool {
        self.at.load(Relaxed) != UNSET
    }

    /// Returns true once the instances may not run any more.
    pub(crate) fn is_due(&self) -> bool {
        let at = self.at.load(Relaxed);
        at != UNSET && Instant::now() >= self.made + Duration::from_nanos(at)
    }

    /// Ends the instances at this time. If there are several revocations, the earliest end counts.
    fn end(&self, at: Instant) {
        let after = at.saturating_duration_since(self.made).as_nanos();
        self.at.fetch_min(u64::try_from(after).map_or(UNSET - 1, |after| after.min(UNSET - 1)), Relaxed);
    }
}

impl Default for Revocation {
    fn default() -> Self {
        Self { made: Instant::now(), at: AtomicU64::new(UNSET) }
    }
}

// === impl Grantees ===

impl Grantees {
    /// The revocation for instances that are made with these grants from now on.
    pub(crate) fn grant(&self, grants: &Grants) -> Arc<Revocation> {
        let revocation = Arc::<Revocation>::default();
        self.0.lock().push((grants.clone(), Arc::downgrade(&revocation)));
        revocation
    }

    /// Revokes all grants that these grants do not cover. Instances with a revoked grant end at `at`, or earlier if another revocation
    /// says so. Returns true if there are such instances.
    pub(crate) fn narrow(&self, grants: &Grants, at: Instant) -> bool {
        let mut known = self.0.lock();
        known.retain(|(_, revocation)| revocation.strong_count() > 0);
        let mut narrows = false;
        for (granted, revocation) in &*known {
            if let Some(revocation) = revocation.upgrade().filter(|_| !grants.cover(granted)) {
                revocation.end(at);
                narrows = true;
            }
        }
        narrows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes: u64) -> Grants {
        Grants { keyvalue: Some(bytes), ..Grants::default() }
    }

    #[test]
    fn only_instances_with_more_than_the_new_grants_end() {
        let grantees = Grantees::default();
        let (little, much) = (grantees.grant(&kept(1)), grantees.grant(&kept(100)));
        let now = Instant::now();

        assert!(grantees.narrow(&kept(10), now));
        assert!(!little.is_set() && much.is_due());

        // A second revocation does not extend the time.
        let later = now + Duration::from_secs(60);
        assert!(grantees.narrow(&kept(0), later));
        assert!(much.is_due(), "it ends at the time of the first revocation");
        assert!(little.is_set() && !little.is_due());
    }

    /// An operator may lower the deadline again to end a call in flight earlier.
    #[test]
    fn a_later_revocation_with_an_earlier_end_ends_the_instances_earlier() {
        let grantees = Grantees::default();
        let instance = grantees.grant(&kept(100));
        let now = Instant::now();
        assert!(grantees.narrow(&kept(10), now + Duration::from_secs(3600)));
        assert!(instance.is_set() && !instance.is_due());

        assert!(grantees.narrow(&kept(10), now));

        assert!(instance.is_due());
    }

    #[test]
    fn grants_without_instances_are_forgotten() {
        let grantees = Grantees::default();
        drop(grantees.grant(&kept(1)));

        assert!(!grantees.narrow(&Grants::default(), Instant::now()));
        assert!(grantees.0.lock().is_empty());
    }
}
