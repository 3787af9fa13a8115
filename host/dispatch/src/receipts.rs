//! Receipts: the newest state of each object that a plugin acknowledged. With them a plugin receives only the changes after a
//! restart of the host (`initial = "changed"`).
//!
//! The queue adds a [`Receipt`] for each notification that its plugin acknowledged. When the first call for an addition begins, the
//! queue adds a receipt that [is not acknowledged](Receipt::begun). The filter reports each change that it withholds. [`Receipts`]
//! merges all of these by object until the host has written them. The next process reads the receipts and passes them to
//! [`Filter::recalling`](crate::Filter::recalling).
//!
//! # Meaning of a receipt
//! The plugin has handled everything up to this state of the object. A change that `changed`, `when` or `events` withholds moves the
//! receipt of the state before to the state after, because the plugin need not handle the change. If the state before is not
//! acknowledged yet, the receipt moves on once that state is acknowledged. If that never happens, because the object is deleted first
//! and the deletion is not acknowledged either, the change is forgotten.
//!
//! If the content of an object changes at the same version, its receipt is stale until the plugin acknowledges the new content.
//!
//! A receipt that is not acknowledged shows only that the plugin may know the object. The object is delivered again, or if the object
//! is gone, its deletion is delivered. An object whose addition is withheld gets such a receipt if its deletion may pass. An earlier
//! object of the same name may have a pending deletion. When the plugin acknowledges this deletion, the new receipt replaces the receipt
//! for the earlier object.
//!
//! # At least once
//! A receipt is written after the acknowledgement, so a process that is killed may forget the receipts of its last moments: their
//! objects are delivered again. A notification that was given up, as a dead letter or not, leaves the receipt as it was.

mod receipt;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use informer_types::{Change, Object, ObjectKey, Source};
use parking_lot::Mutex;
use tokio::sync::Notify;

pub use receipt::Receipt;

use crate::entry::ObjectRef;

/// The number of unwritten objects of one subscription at which deletions are left out, because nothing can be written. A receipt
/// that stays although its object is gone only repeats the deletion.
const FULL: usize = 1 << 18;

/// The receipts of one plugin that are not written yet. Clones are handles of the same receipts.
///
/// # Bound
/// - One receipt for each object with a change since the last write.
/// - One receipt for each object with a withheld change that waits until an earlier state is acknowledged.
/// - If the filter of the subscription may withhold additions: one entry for each name with a pending deletion, and for each name whose
///   last two deletions merged in the queue. Such an entry stays until a later deletion of that name is acknowledged.
///
/// While nothing can be written, the receipts of at most 262,144 deleted objects are kept for each subscription.
#[derive(Clone, Debug, Default)]
pub struct Receipts(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    book: Mutex<Book>,
    /// Signalled when there is something to write.
    filled: Notify,
    /// The number of times that the receipts expired.
    expiries: AtomicU64,
}

#[derive(Debug, Default)]
struct Book {
    subscriptions: Vec<Kept>,
    /// The subscriptions changed, so the rows of all other resources have to be removed.
    others_go: bool,
    /// The plugin takes keys, which no receipt covers.
    is_off: bool,
    component: Option<Arc<str>>,
}

/// The receipts of one subscription.
#[derive(Debug)]
struct Kept {
    source: Source,
    unwritten: HashMap<ObjectKey, Unwritten>,
    /// Entries that are to be written.
    due: usize,
    /// What happens to the rows on disk before the entries are written.
    first: First,
    /// The objects [abandoned](Receipts::abandoned) since the present batch was taken. `None` while no batch is being written.
    abandoned: Option<HashMap<ObjectKey, Arc<Object>>>,
}

/// What happens to the rows of a subscription before others are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum First {
    /// Nothing.
    #[default]
    Keep,
    /// Each of them becomes [stale](Receipt::stale): its object is delivered again.
    Stale,
    /// They are removed.
    Remove,
}

/// The part of an object's receipt that is not written yet.
#[derive(Debug, Default)]
struct Unwritten {
    write: Option<Write>,
    /// Changes that were withheld. They count once the state before them is acknowledged.
    skip: Option<Skip>,
    /// `skip` is not written before the plugin acknowledges the state before it, because the row on disk is of another state.
    skip_waits: bool,
    /// The UID of the object whose deletion passed last, until the plugin acknowledges the deletion or the deletion is given up.
    leaving: Option<Box<str>>,
    /// The receipt of the next object of this name, whose addition was withheld while `leaving` is set. When the deletion is
    /// acknowledged, this receipt replaces the row on disk.
    next: Option<Receipt>,
}

/// A change that was withheld, or several in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The state before.
    pub from: Receipt,
    /// The state after.
    pub to: Receipt,
}

/// The write for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// The receipt of the last state.
    State(Receipt),
    /// The receipt of the state after, if the row belongs to the state before.
    Skip(Skip),
    /// This receipt, which is not acknowledged, if there is no row: a call for the addition of the object began.
    Begun(Receipt),
    /// The object is gone.
    Gone,
}

/// The writes of one transaction: first the rows of other resources are removed, then the subscriptions are written in their
/// order, and each of them in the order of its fields.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// If set, the rows of all resources of the plugin but these are removed.
    pub only: Option<BTreeSet<Source>>,
    /// The version of the component that gives the receipts from now on.
    pub component: Option<Arc<str>>,
    /// The rows of each subscription.
    pub rows: Vec<Rows>,
}

/// The rows of one subscription that are to be written.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The resource.
    pub source: Source,
    /// What happens to the rows on disk first.
    pub first: First,
    /// Each object at most once.
    pub writes: Vec<(ObjectKey, Write)>,
}

// === impl Receipts ===

impl Receipts {
    /// Keeps the receipts of these subscriptions from now on, and no others.
    pub fn keep(&self, sources: impl IntoIterator<Item = Source>) {
        let sources: BTreeSet<Source> = sources.into_iter().collect();
        let mut book = self.0.book.lock();
        book.subscriptions.retain(|kept| sources.contains(&kept.source));
        for source in sources {
            if book.of(&source).is_none() {
                let (unwritten, due, first) = (HashMap::new(), 0, First::Keep);
                book.subscriptions.push(Kept { source, unwritten, due, first, abandoned: None });
            }
        }
        book.others_go = true;
        drop(book);
        self.0.filled.notify_one();
    }

    /// Returns true if receipts of this resource are kept.
    pub fn keeps(&self, source: &Source) -> bool {
        let mut book = self.0.book.lock();
        !book.is_off && book.of(source).is_some()
    }

    /// Returns true if receipts of any resource are kept.
    pub fn keeps_any(&self) -> bool {
        !self.0.book.lock().subscriptions.is_empty()
    }

    /// The first call with this change begins. Even if the plugin never acknowledges an addition, it has to receive the deletion.
    pub(crate) fn begun(&self, object: &ObjectRef, change: &Change) {
        let Change::Added { object: new } = change else { return };
        self.note(&object.source, &object.key, |unwritten| {
            if let Some(receipt) = Receipt::of(new) {
                unwritten.begun(receipt.begun());
            }
        });
    }

    /// The number of times that the receipts expired. The queue reads it when a call begins, and passes it to
    /// [`acknowledged`](Self::acknowledged).
    pub(crate) fn expiries(&self) -> u64 {
        self.0.expiries.load(Ordering::Acquire)
    }

    /// The plugin acknowledged a notification with this change. `expiries` is the value of [`expiries`](Self::expiries) when the call
    /// began. If the receipts expired during the call, the receipt of the state is stale, because an earlier version of the plugin may
    /// have answered the call. If other content at the same version is pending, the caller passes `None`, and the receipt is stale, too.
    pub(crate) fn acknowledged(&self, object: &ObjectRef, change: &Change, expiries: Option<u64>) {
        self.note(&object.source, &object.key, |unwritten| match change {
            Change::Deleted { object, .. } => unwritten.gone(object),
            Change::Added { object } | Change::Updated { new: object, .. } => match Receipt::of(object) {
                Some(receipt) if expiries == Some(self.expiries()) => unwritten.acknowledged(receipt),
                Some(receipt) => unwritten.acknowledged(receipt.stale()),
                None => unwritten.gone(object),
            },
        });
    }

    /// The content of the object changed at the same version, and this change is pending. A receipt of the version does not count
    /// until the plugin acknowledges the change.
    pub(crate) fn renewed(&self, object: &ObjectRef, change: &Change) {
        if let Some(receipt) = Receipt::of(change.object()) {
            self.note(&object.source, &object.key, |unwritten| unwritten.acknowledged(receipt.stale()));
        }
    }

    /// A condition withholds this update from the plugin.
    pub(crate) fn skipped(&self, source: &Source, old: &Object, new: &Object) {
        if let Some((from, to)) = Receipt::of(old).zip(Receipt::of(new))
            && from != to
        {
            self.note(source, &new.key(), |unwritten| unwritten.skipped(Skip { from, to }));
        }
    }

    /// The deletion of this object passes a filter that may withhold the addition of the next object of the same name. Call it before
    /// the deletion is offered to the queue.
    pub(crate) fn leaves(&self, source: &Source, object: &Object) {
        self.note(source, &object.key(), |unwritten| {
            (unwritten.leaving, unwritten.next) = (Some(object.uid().to_string().into()), None);
        });
    }

    /// A condition withholds the addition of this object from the plugin, which has to receive the deletion of the object.
    pub(crate) fn withheld(&self, source: &Source, object: &Object) {
        if let Some(receipt) = Receipt::of(object) {
            self.note(source, &object.key(), |unwritten| unwritten.withheld(receipt.begun()));
        }
    }

    /// A condition withholds the deletion of this object from the plugin.
    pub(crate) fn forgotten(&self, source: &Source, object: &Object) {
        self.note(source, &object.key(), |unwritten| {
            unwritten.next = None;
            unwritten.gone(object);
        });
    }

    /// The object is deleted, and its deletion is given up, or is not delivered because the plugin never saw the object. No state of
    /// the object is acknowledged any more, so its withheld changes are forgotten, also those in the batch that is being written.
    /// The row on disk stays.
    pub(crate) fn abandoned(&self, source: &Source, object: &Arc<Object>) {
        if let Some(kept) = self.0.book.lock().of(source) {
            kept.abandon(object);
        }
    }

    /// Makes every receipt outdated, also those of calls in flight, so that every object is delivered again. The receipts still
    /// record that the plugin knows the objects.
    pub fn expire(&self) {
        // The count comes first. The receipt of a call that began earlier is then either stale when it is added, or becomes stale below.
        self.0.expiries.fetch_add(1, Ordering::AcqRel);
        self.begin(First::Stale, |kept| {
            kept.unwritten.values_mut().for_each(Unwritten::expire);
        });
    }

    /// Switches the receipts off while the version in service takes keys, and removes them, because keys do not outlive the
    /// process.
    pub(crate) fn switch(&self, is_on: bool) {
        let was_off = std::mem::replace(&mut self.0.book.lock().is_off, !is_on);
        if !is_on && !was_off {
            self.begin(First::Remove, |kept| kept.unwritten.clear());
        }
    }

    /// The version of the component in service, by its digest.
    pub fn set_component(&self, digest: &str) {
        self.0.book.lock().component = Some(digest.into());
        self.0.filled.notify_one();
    }

    /// Waits until there is something to write.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn filled(&self) {
        loop {
            let filled = self.0.filled.notified();
            if !self.0.book.lock().is_empty() {
                return;
            }
            filled.await;
        }
    }

    /// The number of objects whose receipts are not written yet.
    pub fn unwritten(&self) -> usize {
        self.0.book.lock().subscriptions.iter().map(|kept| kept.due).sum()
    }

    /// Takes what is to be written next, with at most `most` objects. Returns `None` if there is nothing.
    pub fn take(&self, most: usize) -> Option<Batch> {
        let mut book = self.0.book.lock();
        // The batch before is written.
        book.subscriptions.iter_mut().for_each(|kept| kept.abandoned = None);
        if book.is_empty() {
            return None;
        }
        let only = std::mem::take(&mut book.others_go)
            .then(|| book.subscriptions.iter().map(|kept| kept.source.clone()).collect());
        let mut left = most;
        let rows = book.subscriptions.iter_mut().filter_map(|kept| kept.take(&mut left)).collect();
        Some(Batch { only, component: book.component.take(), rows })
    }

    /// Takes a batch back that was not written.
    pub fn put_back(&self, batch: Batch) {
        let mut book = self.0.book.lock();
        book.others_go |= batch.only.is_some();
        book.component = book.component.take().or(batch.component);
        for rows in batch.rows {
            if let Some(kept) = book.of(&rows.source) {
                kept.put_back(rows.first, rows.writes);
            }
        }
    }

    /// Takes back withheld changes that could not be written, because another state is on disk. Each of them waits until the plugin
    /// acknowledges the state before it.
    pub fn wait(&self, source: &Source, skips: impl IntoIterator<Item = (ObjectKey, Skip)>) {
        if let Some(kept) = self.0.book.lock().of(source) {
            for (key, skip) in skips {
                if !kept.is_abandoned(&key, &skip) {
                    kept.change(&key, |unwritten| unwritten.wait(skip, true));
                }
            }
        }
    }

    fn note(&self, source: &Source, key: &ObjectKey, change: impl FnOnce(&mut Unwritten)) {
        let mut book = self.0.book.lock();
        if book.is_off {
            return;
        }
        let Some(kept) = book.of(source) else { return };
        let before = kept.due;
        kept.change(key, change);
        let first = before == 0 && kept.due > 0;
        drop(book);
        if first {
            self.0.filled.notify_one();
        }
    }

    fn begin(&self, first: First, change: impl Fn(&mut Kept)) {
        for kept in &mut self.0.book.lock().subscriptions {
            change(kept);
            kept.first = kept.first.max(first);
            kept.tidy();
        }
        self.0.filled.notify_one();
    }
}

// === impl Book ===

impl Book {
    fn of(&mut self, source: &Source) -> Option<&mut Kept> {
        self.subscriptions.iter_mut().find(|kept| kept.source == *source)
    }

    fn is_empty(&self) -> bool {
        let written = |kept: &Kept| kept.due == 0 && kept.first == First::Keep;
        !self.others_go && self.component.is_none() && self.subscriptions.iter().all(written)
    }
}

// === impl Kept ===

impl Kept {
    fn change(&mut self, key: &ObjectKey, change: impl FnOnce(&mut Unwritten)) {
        let is_full = self.unwritten.len() >= FULL;
        if let Some(unwritten) = self.unwritten.get_mut(key) {
            self.due -= usize::from(unwritten.is_due());
            change(unwritten);
            if unwritten.is_empty() || (is_full && unwritten.is_deletion()) {
                self.unwritten.remove(key);
            } else {
                self.due += usize::from(unwritten.is_due());
            }
            return;
        }
        let mut unwritten = Unwritten::default();
        change(&mut unwritten);
        let is_left_out = is_full && unwritten.is_deletion();
        if !unwritten.is_empty() && !is_left_out {
            self.due += usize::from(unwritten.is_due());
            self.unwritten.insert(key.clone(), unwritten);
        }
    }

    fn abandon(&mut self, object: &Arc<Object>) {
        let key = object.key();
        self.change(&key, |unwritten| unwritten.abandon(object));
        if let Some(abandoned) = &mut self.abandoned {
            abandoned.insert(key, Arc::clone(object));
        }
    }

    /// Returns true if the object of this withheld change was abandoned while the change was being written.
    fn is_abandoned(&self, key: &ObjectKey, skip: &Skip) -> bool {
        let object = self.abandoned.as_ref().and_then(|abandoned| abandoned.get(key));
        object.is_some_and(|object| skip.from.is_of(object))
    }

    /// Removes empty entries, and counts those that are due.
    fn tidy(&mut self) {
        self.unwritten.retain(|_, unwritten| !unwritten.is_empty());
        self.due = self.unwritten.values().filter(|unwritten| unwritten.is_due()).count();
        if self.unwritten.is_empty() {
            self.unwritten.shrink_to_fit();
        }
    }

    fn take(&mut self, left: &mut usize) -> Option<Rows> {
        let first = std::mem::take(&mut self.first);
        let most = self.due.min(*left);
        if first == First::Keep && most == 0 {
            return None;
        }
        *left -= most;
        self.abandoned = Some(HashMap::new());
        let due = self.unwritten.iter_mut().filter_map(|(key, unwritten)| Some((key, unwritten.take()?)));
        let writes = due.take(most).map(|(key, write)| (key.clone(), write)).collect();
        self.tidy();
        Some(Rows { source: self.source.clone(), first, writes })
    }

    fn put_back(&mut self, first: First, writes: Vec<(ObjectKey, Write)>) {
        // A removal or an expiry that began after the batch was taken applies to the writes of the batch, too.
        let since = self.first;
        for (key, write) in writes {
            if matches!(&write, Write::Skip(skip) if self.is_abandoned(&key, skip)) {
                continue;
            }
            match since {
                First::Keep => self.change(&key, |unwritten| unwritten.put_back(write)),
                First::Stale => self.change(&key, |unwritten| {
                    let mut before = Unwritten::default();
                    before.put_back(write);
                    before.expire();
                    before.write.into_iter().for_each(|write| unwritten.put_back(write));
                }),
                First::Remove => {}
            }
        }
        self.first = since.max(first);
        self.abandoned = None;
    }
}

// === impl Unwritten ===

impl Unwritten {
    fn begun(&mut self, receipt: Receipt) {
        match self.write {
            None => self.write = Some(Write::Begun(receipt)),
            // This write also replaces the row of the earlier object.
            Some(Write::Gone) => self.write = Some(Write::State(receipt)),
            // There will be a row, which is enough: it shows that the plugin may know the object.
            Some(Write::State(_) | Write::Skip(_) | Write::Begun(_)) => {}
        }
    }

    fn withheld(&mut self, receipt: Receipt) {
        self.next = self.leaving.is_some().then(|| receipt.clone());
        self.begun(receipt);
    }

    fn acknowledged(&mut self, receipt: Receipt) {
        let reached = self.skip.take_if(|skip| skip.from == receipt).map(|skip| skip.to);
        // A resync or a replay may deliver the state after a withheld change. The change has nothing to wait for any more.
        self.skip = self.skip.take().filter(|skip| skip.to != receipt);
        // Another state will be on disk.
        self.skip_waits = true;
        self.write = Some(Write::State(reached.unwrap_or(receipt)));
    }

    fn skipped(&mut self, skip: Skip) {
        match (&mut self.write, &mut self.skip) {
            (Some(Write::State(state)), _) if *state == skip.from => *state = skip.to,
            (_, Some(before)) if before.to == skip.from => before.to = skip.to,
            _ => (self.skip, self.skip_waits) = (Some(skip), self.write.is_some()),
        }
    }

    fn gone(&mut self, object: &Object) {
        // Another object of this name may wait for its addition.
        self.skip = self.skip.take_if(|skip| !skip.from.is_of(object));
        self.skip_waits = true;
        self.write = Some(self.next.clone().map_or(Write::Gone, Write::State));
        self.left(object);
    }

    /// The deletion of this object is no longer pending.
    fn left(&mut self, object: &Object) {
        if self.leaving.as_deref().is_some_and(|leaving| object.uid() == leaving) {
            (self.leaving, self.next) = (None, None);
        }
    }

    /// No state of this object is acknowledged any more.
    fn abandon(&mut self, object: &Object) {
        self.skip = self.skip.take().filter(|skip| !skip.from.is_of(object));
        self.left(object);
    }

    fn expire(&mut self) {
        self.skip = None;
        if let Some(Write::State(receipt)) = &mut self.write {
            *receipt = receipt.stale();
        }
    }

    /// Takes back a skip that was not written and is older than the present one. If `waits`, another state is on disk, and the skip
    /// waits until the plugin acknowledges the state before it.
    fn wait(&mut self, skip: Skip, waits: bool) {
        match (&mut self.write, &mut self.skip) {
            (Some(Write::State(state)), _) if *state == skip.from => self.acknowledged(skip.to),
            (Some(Write::State(state)), _) if *state == skip.to => {}
            (Some(Write::Gone), _) => {}
            (_, Some(after)) if skip.to != after.from => {}
            (_, after) => {
                let to = after.take().map_or(skip.to, |after| after.to);
                (self.skip, self.skip_waits) = (Some(Skip { from: skip.from, to }), waits);
            }
        }
    }

    /// Takes back a write that is older than the present one.
    fn put_back(&mut self, write: Write) {
        match (write, &mut self.write) {
            (Write::Skip(skip), newer) => {
                let waits = newer.is_some();
                self.wait(skip, waits);
            }
            (write, Some(Write::Begun(receipt))) => {
                let begun = receipt.clone();
                self.write = Some(write);
                self.begun(begun);
            }
            (_, Some(_)) => {}
            (write, None) => {
                let skip = self.skip.take();
                self.write = Some(write);
                skip.into_iter().for_each(|skip| self.skipped(skip));
            }
        }
    }

    fn take(&mut self) -> Option<Write> {
        let write = self.write.take();
        write.or_else(|| self.skip.take_if(|_| !self.skip_waits).map(Write::Skip))
    }

    fn is_due(&self) -> bool {
        self.write.is_some() || (self.skip.is_some() && !self.skip_waits)
    }

    fn is_empty(&self) -> bool {
        self.write.is_none() && self.skip.is_none() && self.leaving.is_none()
    }

    /// Returns true if nothing but the deletion of a row is to be written.
    fn is_deletion(&self) -> bool {
        self.write == Some(Write::Gone) && self.skip.is_none() && self.leaving.is_none()
    }
}

#[cfg(test)]
mod tests;
