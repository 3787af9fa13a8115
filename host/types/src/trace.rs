//! The decisions of the stages about an object, step by step, as `informer explain` shows them.

mod call;
mod event;
mod step;
mod version;

use std::{fmt, sync::Arc, time::Instant};

use crate::{ObjectKey, Source};

pub use call::{HostCall, HostRequest, TraceContext};
pub use event::{CallTrace, EventSpans, EventTrace, Observed, Traced};
pub use step::{Enqueued, KeyThen, Step, Then, WatchVerb};
pub use version::Version;

/// The maximum size of a namespace and a name together: 253 bytes each.
const MAX_KEY_BYTES: usize = 2 * 253;

/// Stores steps. `host` implements it with a bounded ring.
pub trait TraceSink: Send + Sync + 'static {
    /// Stores one step. It is called on the path of every event with the locks of a stage held, so it must return at
    /// once and must not call the stage.
    ///
    /// # Ordering
    /// Steps of one object for one plugin arrive in the order of the decisions.
    fn record(&self, traced: Traced);

    /// Called when a watch sent an event. Returns the trace of the event. The sink decides here, once, whether the event is
    /// sampled.
    fn begin_event(&self, _source: &Source, _event: &SeenEvent<'_>) -> EventTrace {
        EventTrace::default()
    }
}

/// An event as the reflector reads it.
#[derive(Clone, Copy, Debug)]
pub struct SeenEvent<'a> {
    /// The namespace of the object; empty if it has none.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The type of the event.
    pub verb: WatchVerb,
    /// The version of the object.
    pub version: &'a str,
}

/// Records the decisions of a stage. Cheap to clone. Without a sink, a call costs one check of a pointer and builds
/// nothing.
#[derive(Clone, Default)]
pub struct Tracer {
    sink: Option<Arc<dyn TraceSink>>,
    plugin: Option<Arc<str>>,
}

// === impl Tracer ===

impl Tracer {
    /// A tracer that records to `sink` what the stages decide for all plugins.
    pub fn new(sink: Arc<dyn TraceSink>) -> Self {
        Self { sink: Some(sink), plugin: None }
    }

    /// A tracer that records to the same sink what the stages decide for this plugin.
    pub fn of_plugin(&self, plugin: impl Into<Arc<str>>) -> Self {
        Self { sink: self.sink.clone(), plugin: Some(plugin.into()) }
    }

    /// Returns true if there is a sink.
    pub fn is_on(&self) -> bool {
        self.sink.is_some()
    }

    /// Records the result of `step`, which is called only if there is a sink.
    #[inline]
    pub fn note(&self, source: &Source, step: impl FnOnce() -> (ObjectKey, Step)) {
        self.note_of(source, &EventTrace::default(), None, step);
    }

    /// Like [`note`](Self::note), for a decision about an event. `since` is when the work for the decision began, if that
    /// was measured.
    #[inline]
    pub fn note_of(
        &self,
        source: &Source,
        trace: &EventTrace,
        since: Option<Instant>,
        step: impl FnOnce() -> (ObjectKey, Step),
    ) {
        if let Some(sink) = &self.sink {
            let (key, step) = step();
            let traced = Traced { source: Some(source.clone()), key, plugin: self.plugin.clone(), step };
            trace.step(&traced, since);
            sink.record(traced);
        }
    }

    /// Called when a watch sent an event. Without a sink, no event is sampled.
    #[inline]
    pub fn begin_event<'a>(&self, source: &Source, event: impl FnOnce() -> SeenEvent<'a>) -> EventTrace {
        self.sink.as_ref().map(|sink| sink.begin_event(source, &event())).unwrap_or_default()
    }

    /// Records a decision about a key of the plugin's own workqueue, under the object that [`ObjectKey::in_work_key`] finds in the
    /// text of the key. A key without an object is not recorded.
    #[inline]
    pub fn note_key(&self, key: &str, step: impl FnOnce() -> Step) {
        self.note_key_of(key, &EventTrace::default(), step);
    }

    /// Like [`note_key`](Self::note_key), for a key that an event added.
    #[inline]
    pub fn note_key_of(&self, key: &str, trace: &EventTrace, step: impl FnOnce() -> Step) {
        if let Some(sink) = &self.sink
            && let Some(key) = ObjectKey::in_work_key(key)
            && key.namespace.len() + key.name.len() <= MAX_KEY_BYTES
        {
            let traced = Traced { source: None, key, plugin: self.plugin.clone(), step: step() };
            trace.step(&traced, None);
            sink.record(traced);
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("on", &self.is_on()).field("plugin", &self.plugin).finish()
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[derive(Default)]
    struct Keys(Mutex<Vec<String>>);

    impl TraceSink for Keys {
        fn record(&self, traced: Traced) {
            assert_eq!((traced.source, traced.step), (None, Step::KeyDiscarded));
            self.0.lock().push(traced.key.to_string());
        }
    }

    #[test]
    fn a_key_of_the_workqueue_is_recorded_under_its_object() {
        let keys = Arc::new(Keys::default());
        let tracer = Tracer::new(Arc::clone(&keys) as Arc<dyn TraceSink>);
        let long = "x".repeat(253);
        let longest = format!("{long}/{long}");

        for key in [
            "shop/web",
            "v1/pods shop/web",
            "v1/nodes node-1",
            "other/key/of-no-object",
            &format!("example.com/v1/widgets {longest}"),
            &format!("{longest}x"),
        ] {
            tracer.note_key(key, || Step::KeyDiscarded);
        }

        assert_eq!(*keys.0.lock(), ["shop/web", "shop/web", "node-1", longest.as_str()]);
    }
}
