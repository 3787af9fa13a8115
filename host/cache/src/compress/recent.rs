//! The newest objects of an informer.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use informer_types::Object;

/// The newest objects, in the order of their arrival. The list keeps no object alive.
#[derive(Default)]
pub(super) struct Recent {
    objects: VecDeque<(Weak<Object>, usize)>,
    bytes: usize,
}

// === impl Recent ===

impl Recent {
    pub(super) fn push(&mut self, object: &Arc<Object>) {
        let bytes = object.memory_bytes();
        self.objects.push_back((Arc::downgrade(object), bytes));
        self.bytes += bytes;
    }

    /// Removes and returns the oldest object that is still alive while all objects together have more than `bytes`
    /// bytes.
    pub(super) fn pop_beyond(&mut self, bytes: usize) -> Option<Arc<Object>> {
        while self.bytes > bytes {
            let (object, held) = self.objects.pop_front()?;
            self.bytes -= held;
            if let Some(object) = object.upgrade() {
                return Some(object);
            }
        }
        None
    }

    pub(super) fn forget_dead(&mut self) {
        self.objects.retain(|(object, held)| {
            let alive = object.strong_count() > 0;
            self.bytes -= if alive { 0 } else { *held };
            alive
        });
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The size of all objects when they arrived; some of them may be gone.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = Arc<str>> {
        self.objects.iter().filter_map(|(object, _)| object.upgrade()?.raw())
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header};

    use super::*;

    fn object(bytes: usize) -> Arc<Object> {
        Arc::new(Object::new(&Header::default(), Body::Raw("x".repeat(bytes).into())).unwrap())
    }

    #[test]
    fn the_oldest_object_is_returned_first_and_dead_ones_are_skipped() {
        let (first, dead, second, third) = (object(1_000), object(1_000), object(1_000), object(1_000));
        let mut recent = Recent::default();
        for object in [&first, &dead, &second, &third] {
            recent.push(object);
        }
        let each = first.memory_bytes();

        drop(dead);

        assert!(recent.pop_beyond(4 * each).is_none());
        assert!(Arc::ptr_eq(&recent.pop_beyond(each).unwrap(), &first));
        assert_eq!(recent.texts().count(), 2);
        assert!(Arc::ptr_eq(&recent.pop_beyond(each).unwrap(), &second));
        assert!(recent.pop_beyond(each).is_none());
        assert_eq!((recent.len(), recent.bytes()), (1, each));
        drop(third);
        recent.forget_dead();
        assert_eq!((recent.len(), recent.bytes()), (0, 0));
    }
}
