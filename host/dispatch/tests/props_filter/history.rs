//! What happens to a few objects, and what an informer offers for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use informer_types::{Body, Cause, Change, Header, Notification, Object, Source};
use proptest::prelude::*;

/// What distinguishes the states of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The label `app`: one of three.
    pub(crate) app: u8,
    /// The value of `/spec/n`. `None` means that the field is missing, so that an expression that reads it fails.
    pub(crate) n: Option<u8>,
    /// `/status/n`
    pub(crate) status: u8,
    /// The annotation `mark`: one of two.
    pub(crate) mark: u8,
}

/// One thing that happens to one of four names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// It is created, or changed.
    Put(u8, State),
    /// The object is deleted. Its last state may not have been seen before.
    Delete(u8, Option<State>),
    /// It is deleted and created without being seen, and found by a list (D-6).
    Replace(u8, State),
    /// The resync period of the subscription is over.
    Resync,
    /// Everything is offered again.
    Replay,
    /// The labels of a namespace, one of two, come to match or no longer match. Objects are offered by [`History::revisit`].
    Relabel(u8),
}

/// The collection, as the informer's cache holds it.
pub(crate) struct History {
    cached: BTreeMap<u8, (State, Arc<Object>)>,
    versions: u64,
    lives: u64,
    steps: usize,
    /// Every name that was ever announced.
    announced: BTreeSet<u8>,
    /// True for each namespace whose labels match.
    matching: [bool; 2],
    offered: u64,
}

pub(crate) fn state() -> impl Strategy<Value = State> {
    let n = prop_oneof![4 => (0..6_u8).prop_map(Some), 1 => Just(None)];
    (0..3_u8, n, 0..2_u8, 0..2_u8).prop_map(|(app, n, status, mark)| State { app, n, status, mark })
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4_u8, state()).prop_map(|(name, state)| Step::Put(name, state)),
        2 => (0..4_u8, proptest::option::of(state())).prop_map(|(name, last)| Step::Delete(name, last)),
        1 => (0..4_u8, state()).prop_map(|(name, state)| Step::Replace(name, state)),
        1 => Just(Step::Resync),
        1 => Just(Step::Replay),
    ]
}

/// A step, or a namespace whose labels change.
pub(crate) fn step_or_relabel() -> impl Strategy<Value = Step> {
    prop_oneof![6 => step(), 1 => (0..2_u8).prop_map(Step::Relabel)]
}

// === impl State ===

impl State {
    pub(crate) fn of(object: &Object) -> Self {
        let json: serde_json::Value = serde_json::from_str(&object.json().unwrap()).unwrap();
        let number = |pointer: &str| json.pointer(pointer).map(|n| n.as_u64().unwrap() as u8);
        let app = object.label("app").unwrap().trim_start_matches('a').parse().unwrap();
        let mark = json["metadata"]["annotations"]["mark"].as_str().unwrap();
        let mark = mark.trim_start_matches('m').parse().unwrap();
        Self { app, n: number("/spec/n"), status: number("/status/n").unwrap(), mark }
    }
}

// === impl History ===

impl Default for History {
    /// The labels of one of the namespaces match.
    fn default() -> Self {
        Self {
            cached: BTreeMap::new(),
            versions: 0,
            lives: 0,
            steps: 0,
            announced: BTreeSet::new(),
            matching: [true, false],
            offered: 0,
        }
    }
}

impl History {
    /// The namespaces whose labels match.
    pub(crate) fn matching(&self) -> impl Iterator<Item = Arc<str>> {
        (0..2_u8).filter(|one| self.matching[usize::from(*one)]).map(namespace)
    }

    /// Returns true if the labels of the namespace of an object match.
    pub(crate) fn is_chosen(&self, name: &str) -> bool {
        let number: u8 = name.trim_start_matches('o').parse().unwrap();
        self.matching[usize::from(number % 2)]
    }

    /// What an informer offers for the objects of a namespace after [`Step::Relabel`].
    pub(crate) fn revisit(
        &mut self,
        one: u8,
        difference: impl Fn(&Arc<Object>) -> Option<Change>,
    ) -> Vec<Notification> {
        let name = namespace(one);
        let changes =
            self.objects().filter(|object| object.namespace() == &*name).filter_map(difference).collect();
        self.notify(changes, Cause::Live)
    }

    /// Returns the notifications that an informer sends for this step.
    ///
    /// The first four steps are the first list. An informer applies its first list to an empty store, and a listener that
    /// joins late receives each cached object once. So only an addition is initial, and it is the first notification of its
    /// object; a later object of the same name is never initial (C-11).
    pub(crate) fn play(&mut self, step: Step) -> Vec<Notification> {
        self.steps += 1;
        let initial = match step {
            Step::Put(name, _) | Step::Replace(name, _) => self.announced.insert(name) && self.steps <= 4,
            Step::Delete(..) | Step::Resync | Step::Replay | Step::Relabel(_) => false,
        };
        let changes = match step {
            Step::Put(name, state) => vec![self.put(name, state)],
            Step::Delete(name, last) => self.delete(name, last).into_iter().collect(),
            Step::Replace(name, state) => {
                let deleted = self
                    .cached
                    .remove(&name)
                    .map(|(_, object)| Change::Deleted { object, final_state_known: false });
                deleted.into_iter().chain([self.put(name, state)]).collect()
            }
            Step::Relabel(one) => {
                let matching = &mut self.matching[usize::from(one)];
                *matching = !*matching;
                Vec::new()
            }
            Step::Resync => {
                let again =
                    |object: &Arc<Object>| Change::Updated { old: object.clone(), new: object.clone() };
                return self
                    .notify(self.cached.values().map(|(_, object)| again(object)).collect(), Cause::Resync);
            }
            Step::Replay => {
                let again = |object: &Arc<Object>| Change::Added { object: object.clone() };
                return self
                    .notify(self.cached.values().map(|(_, object)| again(object)).collect(), Cause::Replay);
            }
        };
        self.notify(changes, if initial { Cause::Initial } else { Cause::Live })
    }

    /// Every object that exists, by name.
    pub(crate) fn existing(&self) -> impl Iterator<Item = (String, State)> {
        self.cached.iter().map(|(name, (state, _))| (format!("o{name}"), *state))
    }

    /// The objects that exist.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.cached.values().map(|(_, object)| object)
    }

    /// The first list of an informer that starts now.
    pub(crate) fn list(&mut self) -> Vec<Notification> {
        self.steps += 4;
        self.announced.extend(self.cached.keys());
        let added = self.objects().map(|object| Change::Added { object: object.clone() }).collect();
        self.notify(added, Cause::Initial)
    }

    /// Number of notifications so far.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    fn put(&mut self, name: u8, state: State) -> Change {
        let before = self.cached.get(&name).map(|(_, object)| Arc::clone(object));
        if before.is_none() {
            self.lives += 1;
        }
        let uid = before.as_ref().map_or_else(|| self.lives.to_string(), |object| object.uid().to_string());
        let new = self.object(name, &uid, state);
        self.cached.insert(name, (state, Arc::clone(&new)));
        match before {
            Some(old) => Change::Updated { old, new },
            None => Change::Added { object: new },
        }
    }

    fn delete(&mut self, name: u8, last: Option<State>) -> Option<Change> {
        let (_, cached) = self.cached.remove(&name)?;
        let object = match last {
            Some(state) => self.object(name, &cached.uid().to_string(), state),
            None => cached,
        };
        Some(Change::Deleted { object, final_state_known: last.is_some() })
    }

    fn object(&mut self, name: u8, uid: &str, state: State) -> Arc<Object> {
        self.versions += 1;
        let header = Header {
            namespace: namespace(name % 2),
            name: format!("o{name}").into(),
            uid: uid.to_owned().into(),
            resource_version: self.versions.to_string().into(),
            labels: vec![("app".into(), format!("a{}", state.app).into())],
            ..Header::default()
        };
        let spec = state.n.map_or_else(|| "{}".to_owned(), |n| format!(r#"{{"n":{n}}}"#));
        // The generation follows the spec. An object without the field has none.
        let generation = state.n.map_or_else(String::new, |n| format!(r#","generation":{}"#, n + 1));
        let metadata = format!(r#"{{"annotations":{{"mark":"m{}"}}{generation}}}"#, state.mark);
        let body = format!(r#"{{"spec":{spec},"status":{{"n":{}}},"metadata":{metadata}}}"#, state.status);
        Arc::new(Object::new(&header, Body::Raw(body.into())).unwrap())
    }

    fn notify(&mut self, changes: Vec<Change>, cause: Cause) -> Vec<Notification> {
        self.offered += changes.len() as u64;
        let source = Source::new("v1/pods".parse().unwrap());
        let notify = |change| Notification {
            source: source.clone(),
            change,
            cause,
            initial: None,
            observed: Instant::now().into(),
        };
        changes.into_iter().map(notify).collect()
    }
}

/// The name of one of two namespaces.
pub(crate) fn namespace(one: u8) -> Arc<str> {
    format!("n{one}").into()
}
