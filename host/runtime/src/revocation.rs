//! When what instances were granted is taken away from them.

use std::{
    sync::{Arc, OnceLock, Weak},
    time::Instant,
};

use parking_lot::Mutex;

use crate::Grants;

/// Of the instances that are made for one configuration: from when on nothing of them may run any more.
#[derive(Debug, Default)]
pub(crate) struct Revocation(OnceLock<Instant>);

/// What the living instances of a plugin were granted.
#[derive(Default)]
pub(crate) struct Grantees(Mutex<Vec<(Grants, Weak<Revocation>)>>);

// === impl Revocation ===

impl Revocation {
    /// True once the time is known.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// True once the time has come.
    pub(crate) fn is_due(&self) -> bool {
        self.0.get().is_some_and(|at| Instant::now() >= *at)
    }
}

// === impl Grantees ===

impl Grantees {
    /// For the instances that are made with these grants from now on.
    pub(crate) fn grant(&self, grants: &Grants) -> Arc<Revocation> {
        let revocation = Arc::<Revocation>::default();
        self.0.lock().push((grants.clone(), Arc::downgrade(&revocation)));
        revocation
    }

    /// Lets those end at this time that may do what these grants do not allow. True where there are any; of one that is
    /// to end earlier nothing changes.
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
    fn only_those_end_that_may_do_more_than_is_allowed_now() {
        let grantees = Grantees::default();
        let (little, much) = (grantees.grant(&kept(1)), grantees.grant(&kept(100)));
        let now = Instant::now();

        assert!(grantees.narrow(&kept(10), now));
        assert!(!little.is_set() && much.is_due());

        // To be revoked again is no respite.
        let later = now + Duration::from_secs(60);
        assert!(grantees.narrow(&kept(0), later));
        assert!(much.is_due(), "at the first time");
        assert!(little.is_set() && !little.is_due());
    }

    #[test]
    fn of_those_that_are_gone_nothing_is_kept() {
        let grantees = Grantees::default();
        drop(grantees.grant(&kept(1)));

        assert!(!grantees.narrow(&Grants::default(), Instant::now()));
        assert!(grantees.0.lock().is_empty());
    }
}
