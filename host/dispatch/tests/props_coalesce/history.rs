//! What an API server could have done to a few objects, and what the cache would say about it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use informer_types::{Body, Cause, Change, Header, Notification, Object, Source, SyncToken};
use proptest::prelude::*;

/// How many objects a history is about: few enough that each has a story.
pub(crate) const OBJECTS: usize = 3;

/// One thing that happens to an object. What makes no sense for the object as it is becomes what does: an
/// update of an object that is not there creates it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Create { cause: Cause },
    Update { cause: Cause },
    Delete { final_state_known: bool },
    Resync,
    Replay,
}

/// A version of an object. Both numbers only grow, over all objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) uid: u32,
    pub(crate) rv: u32,
}

/// The collection as it is, and the sync tokens handed out.
#[derive(Default)]
pub(crate) struct Collection {
    objects: [Option<State>; OBJECTS],
    last: u32,
    /// How the object of each UID was deleted, as the cache reports it.
    deletions: Vec<(u32, bool)>,
    tokens: Arc<AtomicUsize>,
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => prop_oneof![Just(Cause::Live), Just(Cause::Initial), Just(Cause::Relist)]
            .prop_map(|cause| Event::Create { cause }),
        4 => prop_oneof![3 => Just(Cause::Live), 1 => Just(Cause::Relist)]
            .prop_map(|cause| Event::Update { cause }),
        3 => any::<bool>().prop_map(|final_state_known| Event::Delete { final_state_known }),
        1 => Just(Event::Resync),
        1 => Just(Event::Replay),
    ]
}

// === impl Collection ===

impl Collection {
    /// Makes it happen. Returns what the cache offers its listeners, in order.
    pub(crate) fn apply(&mut self, index: usize, event: Event) -> Option<Notification> {
        let (change, cause) = match (event, self.objects[index]) {
            (Event::Create { cause } | Event::Update { cause }, None) => {
                let uid = self.next();
                let state = self.put(index, uid);
                (Change::Added { object: object(index, state) }, cause)
            }
            (Event::Create { cause } | Event::Update { cause }, Some(old)) => {
                let new = self.put(index, old.uid);
                let cause = if cause == Cause::Initial { Cause::Live } else { cause };
                (Change::Updated { old: object(index, old), new: object(index, new) }, cause)
            }
            (Event::Delete { final_state_known }, Some(state)) => {
                self.objects[index] = None;
                self.deletions.push((state.uid, final_state_known));
                let cause = if final_state_known { Cause::Live } else { Cause::Relist };
                (Change::Deleted { object: object(index, state), final_state_known }, cause)
            }
            (Event::Resync, Some(state)) => {
                let object = object(index, state);
                (Change::Updated { old: Arc::clone(&object), new: object }, Cause::Resync)
            }
            (Event::Replay, Some(state)) => (Change::Added { object: object(index, state) }, Cause::Replay),
            (_, None) => return None,
        };
        let initial = (cause == Cause::Initial).then(|| self.token());
        let source = Source::new("v1/pods".parse().unwrap());
        Some(Notification { source, change, cause, initial, observed: Instant::now().into() })
    }

    /// The objects as they are.
    pub(crate) fn objects(&self) -> &[Option<State>] {
        &self.objects
    }

    /// What the cache reported about the deletion of this object.
    pub(crate) fn final_state_known(&self, uid: u32) -> Option<bool> {
        self.deletions.iter().find(|(deleted, _)| *deleted == uid).map(|(_, known)| *known)
    }

    /// Sync tokens that are still held.
    pub(crate) fn tokens_held(&self) -> usize {
        self.tokens.load(Ordering::SeqCst)
    }

    fn put(&mut self, index: usize, uid: u32) -> State {
        let state = State { uid, rv: self.next() };
        self.objects[index] = Some(state);
        state
    }

    fn next(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn token(&self) -> SyncToken {
        let held = Arc::clone(&self.tokens);
        held.fetch_add(1, Ordering::SeqCst);
        SyncToken::new(move || {
            held.fetch_sub(1, Ordering::SeqCst);
        })
    }
}

// === impl State ===

impl State {
    pub(crate) fn of(object: &Object) -> Self {
        Self {
            uid: object.uid().to_string().parse().unwrap(),
            rv: object.resource_version().parse().unwrap(),
        }
    }
}

fn object(index: usize, state: State) -> Arc<Object> {
    let header = Header {
        namespace: Arc::from("shop"),
        name: index.to_string().into(),
        uid: state.uid.to_string().into(),
        resource_version: state.rv.to_string().into(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
}

/// As many cases as `PROPTEST_CASES` says, or `usual` if it is not set.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { usual };
    ProptestConfig { cases, ..config }
}
