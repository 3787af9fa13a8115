//! The end of grants that were revoked.

use std::{
    sync::{Arc, OnceLock, Weak},
    time::Instant,
};

use parking_lot::Mutex;

use crate::Grants;

/// The time after which the instances of one configuration must not run. It is unset while none of their grants is revoked.
#[derive(Debug, Default)]
pub(crate) struct Revocation(OnceLock<Instant>);

/// The grants of the living instances of a plugin.
#[derive(Default)]
pub(crate) struct Grantees(Mutex<Vec<(Grants, Weak<Revocation>)>>);

// === impl Revocation ===

impl Revocation {
    /// Returns true once a grant was revoked.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Returns true once the instances may not run any more.
    pub(crate) fn is_due(&self) -> bool {
        self.0.get().is_some_and(|at| Instant::now() >= *at)
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

    /// Revokes all grants that these grants do not cover. Instances with a revoked grant end at `at`, or earlier if an earlier revocation
    /// says so. Returns true if there are such instances.
    pub(crate) fn narrow(&self, grants: &Grants, at: Instant) -> bool {
        let mut known = self.0.lock();
        known.retain(|(_, revocation)| revocation.strong_count() > 0);
        let mut narrows = false;
        for (granted, revocation) in &*known {
            if let Some(revocation) = revocation.upgrade().filter(|_| !grants.cover(granted)) {
                revocation.0.get_or_init(|| at);
                narrows = true;
            }
        }
        narrows
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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

    #[test]
    fn grants_without_instances_are_forgotten() {
        let grantees = Grantees::default();
        drop(grantees.grant(&kept(1)));

        assert!(!grantees.narrow(&Grants::default(), Instant::now()));
        assert!(grantees.0.lock().is_empty());
    }
}
