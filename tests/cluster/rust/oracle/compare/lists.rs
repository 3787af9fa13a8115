//! The changes that a side cannot have received, because a list passed over them.

use std::time::Instant;

use crate::oracle::{
    journal::{Call, What, Why},
    truth::Life,
};

/// The lists of one resource on one side, as far as they can be inferred from its calls.
pub(super) struct Lists {
    /// The version ranges, exclusive at both ends, that lists covered instead of a watch.
    gaps: Vec<(u64, u64)>,
    /// If true, there were lists without visible calls: nothing had changed, or the side does not report the origin of its
    /// calls.
    pub(super) silent: bool,
}

// === impl Lists ===

impl Lists {
    /// A watch delivers changes in the order of versions. So the changes that a list passed over are newer than all calls
    /// before the calls of the list, and older than the live calls after them.
    pub(super) fn of(calls: &[Call], lists: u64) -> Self {
        let mut gaps: Vec<(u64, u64)> = Vec::new();
        let mut newest = 0;
        let mut current: Option<Option<Instant>> = None;
        for call in calls {
            let listed = list(call);
            if let Some(at) = listed
                && current != Some(at)
            {
                gaps.push((newest, u64::MAX));
            }
            if listed.is_none() {
                let open = gaps.iter_mut().filter(|(_, to)| *to == u64::MAX);
                open.for_each(|(_, to)| *to = version(call));
            }
            current = listed;
            newest = newest.max(version(call));
        }
        Self { silent: lists > gaps.len() as u64, gaps }
    }

    /// Returns true if a list may have passed over the whole life of an object.
    pub(super) fn passed_over(&self, life: &Life) -> bool {
        let (first, last) = (life.versions.first(), life.versions.last());
        let within =
            |from: u64, to: u64| first.is_some_and(|it| from < *it) && last.is_some_and(|it| *it < to);
        life.ended && (self.silent || self.gaps.iter().any(|(from, to)| within(*from, *to)))
    }
}

/// The list that this call comes from, if it is known. client-go's first list has no time.
fn list(call: &Call) -> Option<Option<Instant>> {
    match call.why {
        Why::Listed { at, .. } => Some(Some(at)),
        Why::Unsaid { initial: true } => Some(None),
        Why::Live | Why::Unsaid { initial: false } => None,
    }
}

fn version(call: &Call) -> u64 {
    match &call.what {
        What::Add(state) | What::Update { new: state, .. } | What::Delete { state, .. } => state.version,
    }
}
