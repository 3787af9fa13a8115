//! Changes that a bug may have kept from the listeners. The controller writes the store first and then notifies the listeners
//! (C-5). If a bug ends it in between, the next list finds the store up to date, so the listeners would never be notified.
//! Therefore the informer remembers the change that it is applying. After a bug, it distributes the change again before its next
//! list, or before it ends.

use std::{collections::HashMap, sync::Arc};

use informer_types::{Change, Object, ObjectKey};

/// A change that may be in the store and not distributed.
#[derive(Clone)]
pub(crate) enum InDoubt {
    /// One object was written or removed.
    Object {
        object: Arc<Object>,
        /// The object of another UID that was in the store before under the same name.
        predecessor: Option<Arc<Object>>,
    },
    /// A list replaced the objects of a namespace, or of all namespaces.
    List {
        namespace: Option<String>,
        /// The objects in the store before.
        before: Vec<Arc<Object>>,
    },
}

// === impl InDoubt ===

impl InDoubt {
    /// The object is about to be written or removed.
    pub(crate) fn of(object: Arc<Object>) -> Self {
        Self::Object { object, predecessor: None }
    }

    /// The store is about to lose `stored`, which has the same name. If it is another object, its deletion has to be distributed,
    /// too (D-6).
    pub(crate) fn replaces(&mut self, stored: &Arc<Object>) {
        if let Self::Object { object, predecessor } = self
            && stored.uid() != object.uid()
        {
            *predecessor = Some(Arc::clone(stored));
        }
    }

    /// Returns everything that may not have been distributed: an addition for each object in the store, and a deletion for each
    /// object that is not in the store any more. An object of another UID is another object (D-6). A listener may have received
    /// it already. `present` is what the store has now of the object, or of the namespace.
    pub(crate) fn changes(&self, mut present: Vec<Arc<Object>>) -> Vec<Change> {
        let gone =
            |object: &Arc<Object>| Change::Deleted { object: Arc::clone(object), final_state_known: false };
        let deleted: Vec<Change> = match self {
            Self::Object { object, predecessor } => {
                let is_stored = |one: &Arc<Object>| present.iter().any(|object| object.uid() == one.uid());
                let predecessor = predecessor.iter().filter(|predecessor| !is_stored(predecessor));
                predecessor.chain(Some(object).filter(|_| present.is_empty())).map(gone).collect()
            }
            Self::List { before, .. } => {
                let mut before: HashMap<ObjectKey, &Arc<Object>> =
                    before.iter().map(|object| (object.key(), object)).collect();
                let mut replaced = Vec::new();
                present.retain(|object| {
                    let Some(before) = before.remove(&object.key()) else { return true };
                    if before.uid() != object.uid() {
                        replaced.push(before);
                    }
                    // The store keeps the very object if it is unchanged.
                    !Arc::ptr_eq(before, object)
                });
                replaced.into_iter().chain(before.into_values()).map(gone).collect()
            }
        };
        deleted.into_iter().chain(present.into_iter().map(|object| Change::Added { object })).collect()
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header};

    use super::*;

    fn object(json: &str) -> Arc<Object> {
        let header = Header { name: "a".into(), resource_version: "1".into(), ..Header::default() };
        Arc::new(Object::new(&header, Body::Raw(json.into())).unwrap())
    }

    /// A server may send another form of an object at the same version (D-5).
    #[test]
    fn an_object_that_a_list_replaced_at_the_same_version_is_distributed_again_and_an_unchanged_one_is_not() {
        let (before, replaced) = (object("{}"), object(r#"{"x":1}"#));
        let list = InDoubt::List { namespace: None, before: vec![Arc::clone(&before)] };

        assert!(list.changes(vec![before]).is_empty());
        let changes = list.changes(vec![Arc::clone(&replaced)]);
        assert!(
            matches!(changes.as_slice(), [Change::Added { object }] if Arc::ptr_eq(object, &replaced)),
            "{changes:?}"
        );
    }
}
