//! The notifications of one side in order.

use std::{
    collections::BTreeMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::timeout};

use super::{
    resource::Resource,
    truth::{Id, Truth},
};

/// How long a test waits for the final states: client-go waits up to a minute after its seventh failure and may fail
/// once more.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

/// One call of a handler.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: Id,
    pub(super) what: What,
    pub(super) why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Add(State),
    Update {
        old: State,
        new: State,
    },
    /// `known` means that `state` is the final state.
    Delete {
        state: State,
        known: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) uid: String,
    pub(super) version: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// A list. All notifications of one list have the same time.
    Listed {
        initial: bool,
        at: Instant,
    },
    Live,
    /// Unknown: client-go only reports whether an addition is initial.
    Unsaid {
        initial: bool,
    },
}

/// The journals of a side's two handlers: one exists from the start, the other joins halfway.
#[derive(Clone, Default)]
pub(super) struct Journals {
    pub(super) early: Journal,
    pub(super) late: Journal,
}

/// The notifications of one handler. Clones are cheap and share the same journal.
#[derive(Clone, Default)]
pub(super) struct Journal(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// The calls by resource. Calls of different resources have no order.
    calls: Mutex<BTreeMap<Resource, Vec<Call>>>,
    more: Notify,
}

// === impl Journal ===

impl Journal {
    pub(super) fn push(&self, call: Call) {
        self.0.calls.lock().entry(call.id.0).or_default().push(call);
        self.0.more.notify_one();
    }

    pub(super) fn calls(&self) -> BTreeMap<Resource, Vec<Call>> {
        self.0.calls.lock().clone()
    }

    /// Waits until the last notification of each object has its final state.
    ///
    /// # Errors
    /// The objects whose final state did not arrive.
    pub(super) async fn ends_as(&self, truth: &Truth) -> Result<(), Vec<Id>> {
        let ended = async {
            while !self.missing(truth).is_empty() {
                self.0.more.notified().await;
            }
        };
        timeout(PATIENCE, ended).await.map_err(|_| self.missing(truth))
    }

    fn missing(&self, truth: &Truth) -> Vec<Id> {
        let calls = self.0.calls.lock();
        let mut last: BTreeMap<&Id, &What> = BTreeMap::new();
        for call in calls.values().flatten() {
            last.insert(&call.id, &call.what);
        }
        let wrong = truth.objects().filter(|(id, lives)| {
            let wanted = lives.last().and_then(|life| Some((life.uid.as_str(), life.last_version()?)));
            let notified = match last.get(id) {
                Some(What::Add(state) | What::Update { new: state, .. }) => {
                    Some((state.uid.as_str(), state.version))
                }
                // An object that existed only between two lists is never notified.
                Some(What::Delete { .. }) | None => None,
            };
            notified != wanted
        });
        wrong.map(|(id, _)| id.clone()).collect()
    }
}

// === impl Call ===

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Add(state) => write!(f, "add {state}")?,
            What::Update { old, new } => write!(f, "update {old} -> {new}")?,
            What::Delete { state, known: true } => write!(f, "delete {state}")?,
            What::Delete { state, known: false } => write!(f, "delete {state}, final state unknown")?,
        }
        match self.why {
            Why::Listed { initial: true, .. } | Why::Unsaid { initial: true } => f.write_str(", initial"),
            Why::Listed { initial: false, .. } => f.write_str(", relist"),
            Why::Live => f.write_str(", live"),
            Why::Unsaid { initial: false } => Ok(()),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.uid.get(..8).unwrap_or(&self.uid), self.version)
    }
}

impl Why {
    pub(super) fn initial(self) -> bool {
        matches!(self, Self::Listed { initial: true, .. } | Self::Unsaid { initial: true })
    }
}
