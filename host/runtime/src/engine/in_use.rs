//! Values that are shared while they are in use.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

/// The values in use, by key. The map does not keep them alive.
pub(crate) struct InUse<V>(Mutex<HashMap<Arc<str>, Weak<V>>>);

// === impl InUse ===

impl<V> InUse<V> {
    /// The value of this key. Returns `None` if it is not in use.
    pub(crate) fn get(&self, key: &str) -> Option<Arc<V>> {
        self.0.lock().get(key)?.upgrade()
    }

    /// The value of this key, or what `make` returns if it is not in use. `make` must be quick, because all keys wait for it.
    pub(crate) fn share(&self, key: &Arc<str>, make: impl FnOnce() -> V) -> Arc<V> {
        let mut values = self.0.lock();
        values.retain(|_, value| value.strong_count() > 0);
        if let Some(value) = values.get(key).and_then(Weak::upgrade) {
            return value;
        }
        let made = Arc::new(make());
        values.insert(Arc::clone(key), Arc::downgrade(&made));
        made
    }
}

impl<V> Default for InUse<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
