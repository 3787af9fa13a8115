//! Shares one allocation of each namespace name.

use std::sync::Arc;

use hashbrown::HashSet;
use parking_lot::Mutex;

/// With fewer names than this, unused names are not removed.
const CLEAN_UP_FROM: usize = 64;

/// The names of the namespaces of an informer's objects. Objects of one namespace share the name.
#[derive(Default)]
pub(crate) struct NamespaceNames(Mutex<Names>);

#[derive(Default)]
struct Names {
    names: HashSet<Arc<str>>,
    /// The number of names in use after the last removal.
    used: usize,
}

// === impl NamespaceNames ===

impl NamespaceNames {
    pub(crate) fn intern(&self, name: &str) -> Arc<str> {
        let mut names = self.0.lock();
        if let Some(known) = names.names.get(name) {
            return Arc::clone(known);
        }
        // Namespaces come and go: unused names are removed each time the number of names has doubled.
        if names.names.len() >= CLEAN_UP_FROM.max(2 * names.used) {
            names.names.retain(|name| Arc::strong_count(name) > 1);
            names.used = names.names.len();
        }
        let name: Arc<str> = Arc::from(name);
        names.names.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_allocated_once_and_removed_when_no_object_uses_it() {
        let namespaces = NamespaceNames::default();
        let held = namespaces.intern("shop");

        assert!(Arc::ptr_eq(&held, &namespaces.intern("shop")));
        for number in 0..10 * CLEAN_UP_FROM {
            namespaces.intern(&number.to_string());
        }

        assert!(namespaces.0.lock().names.len() <= CLEAN_UP_FROM);
        assert!(Arc::ptr_eq(&held, &namespaces.intern("shop")));
    }
}
