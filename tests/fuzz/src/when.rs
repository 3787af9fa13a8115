//! Conditions in CEL: an expression is refused or evaluated, in bounded time, and its errors hold no part of an object.

use std::{sync::Arc, time::Instant};

use informer_dispatch::{Filter, FilterConfig, FilterStats, When};
use informer_types::{Body, Cause, Change, Gvr, Header, Notification, NotificationSink, Object, Source};
use parking_lot::Mutex;
use serde_json::Value;

use crate::parts::texts;

/// A value of each object, which must not get into an error.
const VALUE: &str = "hunter2hunter2";

/// What the macros with loops begin with.
const LOOPS: [&str; 4] = ["all", "exists", "filter", "map"];

/// Receives what passes, as verbs.
#[derive(Clone, Default)]
struct Verbs(Arc<Mutex<Vec<&'static str>>>);

/// An expression, and the old and the new state of an object.
pub(crate) fn run(input: &[u8]) {
    let Some([expression, old, new]) = texts(input) else { return };
    let when = match expression.parse::<When>() {
        Ok(when) => when,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(when.text(), expression);
    let (Some(old), Some(new)) = (object(old), object(new)) else { return };
    let changes = [
        Change::Added { object: Arc::clone(&old) },
        Change::Updated { old: Arc::clone(&old), new: Arc::clone(&new) },
        Change::Deleted { object: Arc::clone(&new), final_state_known: true },
    ];
    let (verbs, stats) = judged(&when, &changes);
    let (again, _) = judged(&when, &changes);
    // A loop visits the keys of a map in no particular order.
    if !LOOPS.iter().any(|word| expression.contains(word)) {
        assert_eq!(verbs, again, "{expression}");
    }
    if let Some(error) = &stats.when.last_error {
        assert!(expression.contains(VALUE) || !error.contains(VALUE), "{error}");
    }
    sequence_is_sound(&verbs, expression);
}

/// A subscriber that received the object receives its deletion, unless the expression names the event.
fn sequence_is_sound(verbs: &[&str], expression: &str) {
    assert!(verbs.len() <= 3);
    if !expression.contains("event") {
        let deletions = verbs.iter().filter(|verb| **verb == "delete").count();
        assert!(deletions <= 2 && (verbs.is_empty() || verbs.last() == Some(&"delete")), "{verbs:?}");
    }
}

fn judged(when: &When, changes: &[Change]) -> (Vec<&'static str>, FilterStats) {
    let sink = Verbs::default();
    let config = FilterConfig { when: Some(when.clone()), ..FilterConfig::default() };
    let filter = Filter::new(config, sink.clone());
    let source = Source::new(Gvr::new("", "v1", "pods"));
    for change in changes {
        let notification = Notification {
            source: source.clone(),
            change: change.clone(),
            cause: Cause::Live,
            initial: None,
            observed: Instant::now().into(),
        };
        filter.offer(notification);
    }
    let verbs = sink.0.lock().clone();
    (verbs, filter.stats())
}

/// The object of a JSON text, with a value in it.
fn object(json: &str) -> Option<Arc<Object>> {
    let mut tree: Value = serde_json::from_str(json).ok()?;
    tree.as_object_mut()?.insert("secret".to_owned(), VALUE.into());
    let header = Header { name: "web".into(), namespace: "shop".into(), ..Header::default() };
    Some(Arc::new(Object::new(&header, Body::Raw(tree.to_string().into())).unwrap()))
}

impl NotificationSink for Verbs {
    fn offer(&self, notification: Notification) {
        self.0.lock().push(notification.change.verb());
    }
}
