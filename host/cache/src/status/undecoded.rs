//! The objects that exist although the cache may not have them. The controller writes the quarantine after the store, in the order of the
//! deltas. An object therefore exists at each applied version if it is in the store or in the quarantine.

use std::collections::BTreeSet;

use informer_types::ObjectKey;

/// The objects of an informer that exist and cannot be decoded (D-2). `None` if not all of them are known: the server may have
/// sent too many, or one with an unreadable key.
#[derive(Clone, Debug)]
pub struct Undecoded(Option<BTreeSet<ObjectKey>>);

// === impl Undecoded ===

impl Undecoded {
    /// The objects of each reflector; `None` for a reflector that does not know all of them.
    pub(crate) fn of(reflectors: impl IntoIterator<Item = Option<Vec<ObjectKey>>>) -> Self {
        let known: Option<Vec<_>> = reflectors.into_iter().collect();
        Self(known.map(|keys| keys.into_iter().flatten().collect()))
    }

    /// Returns true if the object may exist without being in the cache. If not all objects are known, it returns true for every
    /// key.
    pub fn may_have(&self, key: &ObjectKey) -> bool {
        self.0.as_ref().is_none_or(|known| known.contains(key))
    }

    /// Returns true if every object of this state may still be in quarantine in the state `later`. If not all objects are known in
    /// `later`, the result is true. If all objects are known in `later` but not in this state, the result is false.
    pub(crate) fn is_within(&self, later: &Self) -> bool {
        match (&self.0, &later.0) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(known), Some(later)) => known.is_subset(later),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undecoded(names: Option<&[&str]>) -> Undecoded {
        let key = |name: &&str| ObjectKey::new("shop", *name);
        Undecoded(names.map(|names| names.iter().map(key).collect()))
    }

    #[test]
    fn an_object_has_left_the_quarantine_only_if_all_objects_are_known_afterwards() {
        type Keys = Option<&'static [&'static str]>;
        let cases: [(Keys, Keys, bool); 6] = [
            (Some(&["a"]), Some(&["a", "b"]), true),
            (Some(&["a", "b"]), Some(&["b", "c"]), false),
            (Some(&[]), Some(&[]), true),
            (Some(&["a"]), None, true),
            (None, None, true),
            (None, Some(&["a"]), false),
        ];
        for (before, later, is_within) in cases {
            assert_eq!(undecoded(before).is_within(&undecoded(later)), is_within, "{before:?} {later:?}");
        }
    }
}
