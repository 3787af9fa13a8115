//! What a filter is to do, said in another way: a wish as data, what it means of a state, and a handler that believes
//! what it receives.

use std::{collections::BTreeMap, sync::Arc};

use informer_dispatch::{Changed, Events};
use informer_types::{Cause, Change, Notification, NotificationSink, Object};
use parking_lot::Mutex;
use proptest::{prelude::*, test_runner::TestCaseError};

use crate::history::{History, State};

/// One filter.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    apps: Option<[u8; 2]>,
    status: Option<u8>,
    more_than: Option<u8>,
    annotated: Option<u8>,
    /// Only objects of namespaces whose labels match.
    namespaces: bool,
    only: Only,
    pub(crate) initial: bool,
    pub(crate) events: Events,
}

/// Which updates are changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Only {
    All,
    Spec,
    Generation,
}

/// A handler, and what it received wrongly.
#[derive(Clone)]
pub(crate) struct Belief {
    wish: Wish,
    received: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    /// The last state delivered, by object name.
    known: BTreeMap<String, String>,
    wrong: Vec<String>,
}

pub(crate) fn wish() -> impl Strategy<Value = Wish> {
    use proptest::option::of;
    let events = prop_oneof![2 => Just(Events::ALL), 3 => (any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(add, update, delete)| Events { add, update, delete })];
    let only = prop_oneof![2 => Just(Only::All), 1 => Just(Only::Spec), 1 => Just(Only::Generation)];
    let objects = (of([0..3_u8, 0..3_u8]), of(0..2_u8), of(0..5_u8), of(0..2_u8), any::<bool>());
    (objects, only, any::<bool>(), events).prop_map(
        |((apps, status, more_than, annotated, namespaces), only, initial, events)| Wish {
            apps,
            status,
            more_than,
            annotated,
            namespaces,
            only,
            initial,
            events,
        },
    )
}

// === impl Wish ===

impl Wish {
    /// A filter without a condition on objects.
    pub(crate) fn of_events(events: Events, initial: bool) -> Self {
        Self {
            apps: None,
            status: None,
            more_than: None,
            annotated: None,
            namespaces: false,
            only: Only::All,
            initial,
            events,
        }
    }

    /// The same conditions on objects, with these calls.
    pub(crate) fn with(&self, events: Events, initial: bool) -> Self {
        Self { events, initial, ..self.clone() }
    }

    pub(crate) fn labels(&self) -> String {
        self.apps.map_or_else(String::new, |[one, two]| format!("app in (a{one},a{two})"))
    }

    pub(crate) fn namespaces_labels(&self) -> &'static str {
        if self.namespaces { "matching" } else { "" }
    }

    pub(crate) fn fields(&self) -> String {
        self.status.map_or_else(String::new, |status| format!("status.n={status}"))
    }

    pub(crate) fn when(&self) -> Option<String> {
        self.more_than.map(|n| format!("object.spec.n > {n}"))
    }

    pub(crate) fn annotations(&self) -> String {
        self.annotated.map_or_else(String::new, |mark| format!("mark=m{mark}"))
    }

    pub(crate) fn changed(&self) -> Changed {
        match self.only {
            Only::All => Changed::default(),
            Only::Spec => ["/spec".parse().unwrap()].into_iter().collect(),
            Only::Generation => Changed { generation: true, ..Changed::default() },
        }
    }

    /// Each object that matches is received when it comes to match.
    fn receives_all(&self) -> bool {
        self.initial && self.events.add
    }

    /// What it has received may be the first state, or that of an earlier object of the name.
    fn falls_behind(&self) -> bool {
        let Events { add, update, delete } = self.events;
        !update || !(add || delete)
    }

    fn asked_for(&self, change: &Change) -> bool {
        match change {
            Change::Added { .. } => self.events.add,
            Change::Updated { .. } => self.events.update,
            Change::Deleted { .. } => self.events.delete,
        }
    }

    /// What is not there cannot be compared, and what cannot be decided withholds nothing (D-9).
    fn wants(&self, state: State) -> bool {
        self.apps.is_none_or(|apps| apps.contains(&state.app))
            && self.status.is_none_or(|status| status == state.status)
            && self.annotated.is_none_or(|mark| mark == state.mark)
            && self.more_than.is_none_or(|least| state.n.is_none_or(|n| n > least))
    }
}

// === impl Belief ===

impl Belief {
    pub(crate) fn new(wish: Wish) -> Self {
        Self { wish, received: Arc::default() }
    }

    /// It never received these objects.
    pub(crate) fn forget(&self, which: impl Fn(&str) -> bool) {
        self.received.lock().known.retain(|name, _| !which(name));
    }

    /// Takes a call at its word, if it is one that it wished for.
    pub(crate) fn receive(&self, change: Change) {
        let text = |object: &Object| object.json().unwrap().into_string();
        let mut received = self.received.lock();
        if !self.wish.asked_for(&change) {
            received.wrong.push(format!("{} of {}, left out", change.verb(), change.object().name()));
        }
        match change {
            Change::Added { object } => received.known.insert(object.name().to_owned(), text(&object)),
            Change::Updated { new, .. } => received.known.insert(new.name().to_owned(), text(&new)),
            Change::Deleted { object, .. } => received.known.remove(object.name()),
        };
    }

    /// It tracks every object that matches and no other, and of each what it subscribed to, as far as it received it.
    pub(crate) fn check(&self, history: &History) -> Result<(), TestCaseError> {
        let received = self.received.lock();
        prop_assert!(received.wrong.is_empty(), "{:?}", received.wrong);
        let existing: BTreeMap<String, State> = history.existing().collect();
        for (name, state) in &existing {
            let known = received.known.get(name);
            let is_chosen = !self.wish.namespaces || history.is_chosen(name);
            match (is_chosen && self.wish.wants(*state), known) {
                (true, Some(_)) if self.wish.falls_behind() => {}
                (true, Some(text)) => {
                    prop_assert!(text.starts_with(&spec(*state)), "{name}: {text}, {state:?}");
                }
                // It did not subscribe to what was there at the start, or to what came.
                (true, None) => prop_assert!(!self.wish.receives_all(), "{name} was never received"),
                (false, known) => prop_assert!(
                    known.is_none() || !self.wish.events.delete,
                    "{name} left, which was never received"
                ),
            }
        }
        let exists = |name: &String| !self.wish.events.delete || existing.contains_key(name);
        prop_assert!(received.known.keys().all(exists), "{:?}", received.known);
        Ok(())
    }
}

/// What is received at the latest when the part that counts changes.
fn spec(state: State) -> String {
    let n = state.n.map_or_else(String::new, |n| format!(r#""n":{n}"#));
    format!(r#"{{"spec":{{{n}}},"#)
}

impl NotificationSink for Belief {
    /// Straight from the filter, each call must fit what the handler has received.
    fn offer(&self, notification: Notification) {
        let Notification { change, cause, .. } = notification;
        let name = change.object().name().to_owned();
        let known = self.received.lock().known.contains_key(&name);
        let fits = match change {
            Change::Added { .. } => !known || cause == Cause::Replay || !self.wish.events.delete,
            // What was there at the start, or what came, may have been left out.
            Change::Updated { .. } => known || !self.wish.receives_all(),
            // The handler may receive the deletion of an object that it never saw: if the last state matches (D-11), or if
            // the object was left out of the initial list.
            Change::Deleted { ref object, .. } => {
                known || !self.wish.receives_all() || self.wish.wants(State::of(object))
            }
        };
        if !fits {
            self.received.lock().wrong.push(format!("{} of {name}, known: {known}", change.verb()));
        }
        self.receive(change);
    }
}
