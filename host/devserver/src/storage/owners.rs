//! The dependents of each owner.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

use super::{ObjectKey, Stored};
use crate::registry::CollectionId;

/// The collection and the key of an object.
pub(crate) type Place = (CollectionId, ObjectKey);

/// The dependents of each owner by its UID. It is updated while the lock of the collection is held, so it always
/// agrees with the collections.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    dependents: Mutex<HashMap<String, HashSet<Place>>>,
}

// === impl Owners ===

impl Owners {
    pub(super) fn change(&self, id: &CollectionId, before: Option<&Stored>, after: Option<&Stored>) {
        let owners =
            |object: Option<&Stored>| object.map(|object| object.owners().to_vec()).unwrap_or_default();
        let (old, new) = (owners(before), owners(after));
        let Some(key) = before.or(after).map(|object| object.key.clone()).filter(|_| old != new) else {
            return;
        };
        let place = (id.clone(), key);
        let mut dependents = self.dependents.lock();
        for owner in old.iter().filter(|owner| !new.contains(owner)) {
            if let Some(places) = dependents.get_mut(owner) {
                places.remove(&place);
                if places.is_empty() {
                    dependents.remove(owner);
                }
            }
        }
        for owner in new.into_iter().filter(|owner| !old.contains(owner)) {
            dependents.entry(owner).or_default().insert(place.clone());
        }
    }

    /// The objects that name the owner with this UID, in the order of their resource and key: a test sees one order of deletions.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Place> {
        let mut places: Vec<Place> = self.dependents.lock().get(uid).into_iter().flatten().cloned().collect();
        places.sort();
        places
    }
}
