//! The lists that a call has open. Every page of one list comes from one snapshot.

use std::sync::Arc;

use informer_types::{Gvr, Object};

use crate::bindings::informer::plugin::{
    lister::{Page, Selector},
    types::{Error, ErrorCode},
};

/// The most objects on a page, and the default.
const PAGE: usize = 500;

/// The most lists that a call may have open. One more closes the list that was used longest ago, so that a guest that
/// never finishes a list holds a bounded number of snapshots.
const OPEN_AT_MOST: usize = 8;

/// The open lists of one call. The list used last is at the end.
#[derive(Default)]
pub(crate) struct OpenLists {
    /// Counts up for as long as the instance lives, so that a token of an earlier call is never a token of this call.
    next_id: u64,
    open: Vec<Snapshot>,
}

/// One list: the query and all matching objects.
#[derive(Clone)]
pub(super) struct Snapshot {
    id: u64,
    gvr: Gvr,
    of: Selector,
    objects: Arc<[Arc<Object>]>,
}

/// The place in a list where a page begins.
pub(super) struct Cursor {
    snapshot: Snapshot,
    at: usize,
    limit: usize,
}

// === impl OpenLists ===

impl OpenLists {
    /// Ends the call: its lists are closed.
    pub(crate) fn renew(&mut self) {
        self.open.clear();
    }

    /// The first page of a new list.
    pub(super) fn open(&mut self, gvr: Gvr, of: Selector, part: &Page, objects: Vec<Arc<Object>>) -> Cursor {
        let id = self.next_id;
        self.next_id += 1;
        Cursor {
            snapshot: Snapshot { id, gvr, of, objects: objects.into() },
            at: 0,
            limit: limit(part.limit),
        }
    }

    /// The page that the token names.
    pub(super) fn resume(&self, token: &str, gvr: &Gvr, of: &Selector, part: &Page) -> Result<Cursor, Error> {
        let (snapshot, at) = self.find(token)?;
        if snapshot.gvr != *gvr || snapshot.of != *of {
            let message = "the page token belongs to a list of another resource or selector";
            return Err(Error::new(ErrorCode::Invalid, message));
        }
        Ok(Cursor { snapshot: snapshot.clone(), at, limit: limit(part.limit) })
    }

    /// Ends the page after `taken` objects. Returns the token of the next page, or closes the list and returns `None` if
    /// there is none.
    pub(super) fn advance(&mut self, cursor: Cursor, taken: usize) -> Option<String> {
        let Cursor { snapshot, at, .. } = cursor;
        let next = at.saturating_add(taken);
        self.open.retain(|open| open.id != snapshot.id);
        if next >= snapshot.objects.len() {
            return None;
        }
        if self.open.len() >= OPEN_AT_MOST {
            self.open.remove(0);
        }
        let token = format!("{}.{next}", snapshot.id);
        self.open.push(snapshot);
        Some(token)
    }

    fn find(&self, token: &str) -> Result<(&Snapshot, usize), Error> {
        let parts = token.split_once('.').and_then(|(id, at)| Some((id.parse().ok()?, at.parse().ok()?)));
        let found =
            parts.and_then(|(id, at): (u64, usize)| Some((self.open.iter().find(|open| open.id == id)?, at)));
        found.ok_or_else(|| {
            let message = format!(
                "the page token `{token}` belongs to no open list: its call has returned, the list was read to \
                 its end, or {OPEN_AT_MOST} other lists were started since; list again from the start"
            );
            Error::new(ErrorCode::StalePage, message)
        })
    }
}

// === impl Cursor ===

impl Cursor {
    /// The objects of the page, before the limit of one answer.
    pub(super) fn objects(&self) -> &[Arc<Object>] {
        let end = self.at.saturating_add(self.limit).min(self.snapshot.objects.len());
        self.snapshot.objects.get(self.at..end).unwrap_or_default()
    }
}

/// The most items on a page: `requested`, but at most [`PAGE`]. Zero means [`PAGE`].
pub(super) fn limit(requested: u32) -> usize {
    match usize::try_from(requested).unwrap_or(PAGE).min(PAGE) {
        0 => PAGE,
        limit => limit,
    }
}

#[cfg(test)]
mod tests;
