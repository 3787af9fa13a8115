//! The objects that the plugin acknowledged in an earlier process, until they are compared with the present objects.

use std::{collections::HashMap, str::FromStr};

use informer_types::{Object, ObjectKey, SyncToken};

use crate::receipts::Receipt;

/// The objects that the plugin knows from an earlier process and that were not offered in this one yet.
#[derive(Debug, Default)]
pub(super) struct Recalled {
    receipts: HashMap<ObjectKey, Receipt>,
    /// Every receipt is outdated.
    are_stale: bool,
    /// Held until all objects are compared, because the deletions of those that are gone belong to the first list.
    listed: Option<SyncToken>,
}

/// The knowledge of the plugin about an object that is offered for the first time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing.
    Nothing,
    /// This state.
    Same,
    /// Another state of the object.
    Other,
    /// Another object of the same name, which is gone.
    Another(Receipt),
}

// === impl Recalled ===

impl Recalled {
    pub(super) fn new(receipts: HashMap<ObjectKey, Receipt>) -> Self {
        Self { receipts, are_stale: false, listed: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.receipts.is_empty()
    }

    /// The objects that were not offered yet.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.receipts.keys()
    }

    /// Compares an object, the first time that it is offered.
    pub(super) fn compare(&mut self, key: &ObjectKey, object: &Object) -> Known {
        match self.receipts.remove(key) {
            None => Known::Nothing,
            Some(receipt) if !receipt.is_of(object) => Known::Another(receipt),
            Some(receipt) if !self.are_stale && Receipt::of(object).as_ref() == Some(&receipt) => Known::Same,
            Some(_) => Known::Other,
        }
    }

    /// Takes the token of the first list once every object is compared.
    pub(super) fn complete(&mut self) -> Option<SyncToken> {
        self.listed.take_if(|_| self.receipts.is_empty())
    }

    pub(super) fn expire(&mut self) {
        self.are_stale = true;
    }

    /// Holds the token until all objects are compared.
    pub(super) fn listed(&mut self, initial: SyncToken) {
        if !self.is_empty() {
            self.listed = Some(initial);
        }
    }

    /// The newest version among the receipts that have an order.
    pub(super) fn newest<V: FromStr + Ord>(&self) -> Option<V> {
        self.receipts.values().filter_map(|receipt| receipt.resource_version().parse().ok()).max()
    }

    /// Takes the objects for which `exists` returns false, because they are gone, and the token of the first list. The other objects
    /// stay.
    pub(super) fn end(
        &mut self,
        exists: impl Fn(&ObjectKey) -> bool,
    ) -> (Vec<(ObjectKey, Receipt)>, Option<SyncToken>) {
        let gone = self.receipts.extract_if(|key, _| !exists(key)).collect();
        self.receipts.shrink_to_fit();
        (gone, self.listed.take())
    }
}
