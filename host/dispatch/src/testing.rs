//! Objects and notifications for the tests of this crate.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use informer_types::{
    Body, Cause, Change, Header, Notification, Object, Source, Step, SyncToken, TraceSink, Traced, Tracer,
};
use parking_lot::Mutex;

/// Version `rv` of `shop/<name>`. Its UID is the first letter of `rv`: `a1` and `a2` are two states of one object, and `b1` is
/// the first state of another object of the same name.
pub(crate) fn object(name: &str, rv: &str) -> Arc<Object> {
    let header = Header {
        namespace: Arc::from("shop"),
        name: name.into(),
        uid: rv.chars().take(1).collect::<String>().into(),
        resource_version: rv.into(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
}

pub(crate) fn notification(change: Change, cause: Cause) -> Notification {
    let source = Source::new("v1/pods".parse().unwrap());
    Notification { source, change, cause, initial: None, observed: Instant::now().into() }
}

pub(crate) fn added(name: &str, rv: &str, cause: Cause) -> Notification {
    notification(Change::Added { object: object(name, rv) }, cause)
}

pub(crate) fn updated(name: &str, old: &str, new: &str, cause: Cause) -> Notification {
    notification(Change::Updated { old: object(name, old), new: object(name, new) }, cause)
}

pub(crate) fn deleted(name: &str, rv: &str, final_state_known: bool) -> Notification {
    notification(Change::Deleted { object: object(name, rv), final_state_known }, Cause::Live)
}

/// Short forms: `+a1`, `a1>a2`, `-a2`, and `-a2?` for a deletion whose final state is unknown.
pub(crate) fn text(change: &Change) -> String {
    match change {
        Change::Added { object } => format!("+{}", object.resource_version()),
        Change::Updated { old, new } => format!("{}>{}", old.resource_version(), new.resource_version()),
        Change::Deleted { object, final_state_known } => {
            format!("-{}{}", object.resource_version(), if *final_state_known { "" } else { "?" })
        }
    }
}

/// Sync tokens that count how many of them are still held.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<AtomicUsize>);

impl Held {
    pub(crate) fn token(&self) -> SyncToken {
        self.0.fetch_add(1, Ordering::SeqCst);
        let held = Arc::clone(&self.0);
        SyncToken::new(move || {
            held.fetch_sub(1, Ordering::SeqCst);
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// The steps of `shop/web`.
#[derive(Clone, Default)]
pub(crate) struct Steps(Arc<Mutex<Vec<Step>>>);

impl Steps {
    pub(crate) fn tracer(&self) -> Tracer {
        Tracer::new(Arc::new(self.clone()))
    }

    /// The steps since the last call.
    pub(crate) fn take(&self) -> Vec<Step> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl TraceSink for Steps {
    fn record(&self, traced: Traced) {
        assert_eq!(traced.key.to_string(), "shop/web");
        self.0.lock().push(traced.step);
    }
}

pub(crate) fn add(object: &Arc<Object>) -> Change {
    Change::Added { object: Arc::clone(object) }
}

pub(crate) fn update(old: &Arc<Object>, new: &Arc<Object>) -> Change {
    Change::Updated { old: Arc::clone(old), new: Arc::clone(new) }
}

pub(crate) fn delete(object: &Arc<Object>) -> Change {
    Change::Deleted { object: Arc::clone(object), final_state_known: true }
}
