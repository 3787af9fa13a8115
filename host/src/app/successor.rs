//! What a plugin is told where another informer takes over a watch.

use std::{collections::HashMap, sync::Arc};

use informer_types::{Cause, Change, Notification, NotificationSink, Object, ObjectKey};
use parking_lot::Mutex;

/// Stands between a new informer's listener and the plugin, for as long as the plugin knows states of the informer
/// before. It makes of the first list what a relist makes of it (C-14): what the plugin knows and what did not change
/// is not told again, what changed is an update, and what is not there any more, or not selected any more, is a deletion
/// whose final state is not known.
pub(super) struct Successor {
    source: informer_types::Source,
    /// What the informer before told last of each object; none once the new one said what it has.
    known: Mutex<Option<HashMap<ObjectKey, Arc<Object>>>>,
    sink: Arc<dyn NotificationSink>,
}

// === impl Successor ===

impl Successor {
    /// The informer before has ended, and `known` is its cache; `source` is the resource.
    pub(super) fn new(
        source: informer_types::Source,
        known: Vec<Arc<Object>>,
        sink: Arc<dyn NotificationSink>,
    ) -> Self {
        let known = known.into_iter().map(|object| (object.key(), object)).collect();
        Self { source, known: Mutex::new(Some(known)), sink }
    }

    /// Everything that the new informer had when it took over was offered: the rest is gone.
    pub(super) fn finish(&self) {
        let mut known = self.known.lock();
        let observed = tokio::time::Instant::now().into_std();
        for object in known.take().into_iter().flat_map(HashMap::into_values) {
            self.sink.offer(Notification {
                source: self.source.clone(),
                change: Change::Deleted { object, final_state_known: false },
                cause: Cause::Relist,
                initial: None,
                observed,
            });
        }
    }
}

impl NotificationSink for Successor {
    fn offer(&self, notification: Notification) {
        // Held over the offer: the rest of what is known is told after it or not at all.
        let mut known = self.known.lock();
        let before = known.as_mut().and_then(|known| known.remove(&notification.key()));
        let Some(before) = before else { return self.sink.offer(notification) };
        let Change::Added { object: new } = &notification.change else {
            // Not reached: the first that an informer tells of an object is that it is there.
            return self.sink.offer(notification);
        };
        if before.uid() != new.uid() {
            let change = Change::Deleted { object: before, final_state_known: false };
            self.sink.offer(Notification {
                change,
                cause: Cause::Relist,
                initial: None,
                ..notification.clone()
            });
            self.sink.offer(notification);
        } else if !same(&before, new) {
            let change = Change::Updated { old: before, new: Arc::clone(new) };
            self.sink.offer(Notification { change, cause: Cause::Relist, ..notification });
        }
    }
}

/// D-5; where something else is kept of an object, it is another state.
fn same(before: &Object, new: &Object) -> bool {
    before.resource_version() == new.resource_version()
        && before.json().ok().zip(new.json().ok()).is_some_and(|(before, new)| *before == *new)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use informer_types::{Body, Header, Source};

    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl NotificationSink for Told {
        fn offer(&self, told: Notification) {
            let line = format!("{} {} {}", told.change.verb(), told.change.object().name(), told.cause);
            self.0.lock().push(line);
        }
    }

    fn object(name: &str, uid: &str, rv: &str, body: &str) -> Arc<Object> {
        let header =
            Header { name: name.into(), uid: uid.into(), resource_version: rv.into(), ..Header::default() };
        Arc::new(Object::new(&header, Body::Raw(body.into())).unwrap())
    }

    fn source() -> Source {
        Source::new("v1/pods".parse().unwrap())
    }

    fn offer(sink: &Successor, change: Change, cause: Cause) {
        sink.offer(Notification { source: source(), change, cause, initial: None, observed: Instant::now() });
    }

    /// What is told where one cache follows on another.
    fn told(before: Vec<Arc<Object>>, after: Vec<Arc<Object>>) -> Vec<String> {
        let told = Arc::new(Told::default());
        let sink = Successor::new(source(), before, Arc::clone(&told) as _);
        for object in after {
            offer(&sink, Change::Added { object }, Cause::Initial);
        }
        sink.finish();
        let mut lines = told.0.lock().clone();
        lines.sort();
        lines
    }

    #[test]
    fn what_did_not_change_is_not_told_again() {
        assert!(told(vec![object("a", "1", "5", "{}")], vec![object("a", "1", "5", "{}")]).is_empty());
    }

    #[test]
    fn what_changed_or_is_kept_otherwise_is_an_update() {
        let before = || vec![object("a", "1", "5", "{}")];

        assert_eq!(told(before(), vec![object("a", "1", "6", "{}")]), ["update a relist"]);
        assert_eq!(told(before(), vec![object("a", "1", "5", r#"{"spec":1}"#)]), ["update a relist"]);
    }

    #[test]
    fn what_is_not_selected_any_more_is_deleted_and_what_is_new_is_added() {
        let lines = told(vec![object("a", "1", "5", "{}")], vec![object("b", "2", "5", "{}")]);

        assert_eq!(lines, ["add b initial", "delete a relist"]);
    }

    #[test]
    fn another_object_of_the_same_name_is_a_deletion_and_an_addition() {
        let lines = told(vec![object("a", "1", "5", "{}")], vec![object("a", "2", "6", "{}")]);

        assert_eq!(lines, ["add a initial", "delete a relist"]);
    }

    #[test]
    fn after_the_end_everything_passes() {
        let told = Arc::new(Told::default());
        let sink = Successor::new(source(), Vec::new(), Arc::clone(&told) as _);
        sink.finish();

        let web = object("web", "1", "1", "{}");
        offer(&sink, Change::Deleted { object: web, final_state_known: true }, Cause::Live);

        assert_eq!(*told.0.lock(), ["delete web live"]);
    }
}
