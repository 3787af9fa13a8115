//! Lists that a call has open: every page of one list comes from one snapshot.

use std::sync::Arc;

use informer_types::Object;

use crate::bindings::informer::plugin::{
    lister::Page,
    types::{Error, ErrorCode},
};

/// Objects a page where the guest leaves it to the host.
const PAGE: usize = 500;

/// Lists one call may have open: beyond it the oldest is closed, so that a guest that never finishes a list
/// holds no more than these snapshots.
const OPEN_AT_MOST: usize = 8;

/// The open lists of one call.
#[derive(Default)]
pub(crate) struct OpenLists {
    /// Counts up for as long as the instance lives, so that a token of an earlier call is never one of this.
    next_id: u64,
    open: Vec<OpenList>,
}

struct OpenList {
    id: u64,
    at: usize,
    objects: Snapshot,
}

/// All objects of one list, at one moment.
type Snapshot = Vec<Arc<Object>>;

/// One page.
pub(super) struct Slice {
    pub(super) objects: Vec<Arc<Object>>,
    pub(super) next: Option<String>,
}

// === impl OpenLists ===

impl OpenLists {
    /// The lists of the next call: none yet.
    pub(crate) fn renew(&self) -> Self {
        Self { next_id: self.next_id, open: Vec::new() }
    }

    /// The first page of a new list, or the one that the token names.
    pub(super) fn page(
        &mut self,
        part: &Page,
        list: impl FnOnce() -> Result<Snapshot, Error>,
    ) -> Result<Slice, Error> {
        let limit = if part.limit == 0 { PAGE } else { usize::try_from(part.limit).unwrap_or(PAGE) };
        let (objects, at) = match &part.token {
            Some(token) => self.resume(token)?,
            None => (list()?, 0),
        };
        let end = at.saturating_add(limit).min(objects.len());
        let page = objects.get(at..end).unwrap_or_default().to_vec();
        let next = (end < objects.len()).then(|| self.keep(objects, end));
        Ok(Slice { objects: page, next })
    }

    fn resume(&mut self, token: &str) -> Result<(Snapshot, usize), Error> {
        let found = token.parse().ok().and_then(|id: u64| self.open.iter().position(|open| open.id == id));
        let Some(position) = found else {
            let message = "the page token is not of this call, was used already, or its list was closed because \
                           too many were open; list again from the start";
            return Err(Error::new(ErrorCode::StalePage, message));
        };
        let OpenList { objects, at, .. } = self.open.remove(position);
        Ok((objects, at))
    }

    fn keep(&mut self, objects: Snapshot, at: usize) -> String {
        if self.open.len() >= OPEN_AT_MOST {
            self.open.remove(0);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.open.push(OpenList { id, at, objects });
        id.to_string()
    }
}
