//! What the stages decided about an object, step by step: what `informer explain` shows.

mod step;
mod version;

use std::{fmt, sync::Arc};

use crate::{ObjectKey, Source};

pub use step::{Enqueued, KeyThen, Step, Then, WatchVerb};
pub use version::Version;

/// A namespace and a name of 253 bytes each.
const MAX_KEY_BYTES: usize = 2 * 253 + 1;

/// One step of one object. It holds names, versions and numbers, never anything of an object's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The shared informer that serves the object; none: it is about a key of the plugin's own workqueue, which names an
    /// object of whatever resource the plugin has in mind.
    pub source: Option<Source>,
    /// The object.
    pub key: ObjectKey,
    /// For whom it was decided; none: for everybody.
    pub plugin: Option<Arc<str>>,
    /// What.
    pub step: Step,
}

/// Keeps steps. `host` implements it with a ring of bounded size.
pub trait TraceSink: Send + Sync + 'static {
    /// Keeps one step. It is called on the path of every event, with the locks of a stage held: it returns at once
    /// and never calls back.
    ///
    /// # Ordering
    /// Steps of one object for one plugin come in the order in which they were decided.
    fn record(&self, traced: Traced);
}

/// Where a stage writes what it decides. Cheap to clone. Without a sink it costs a look at a pointer, and nothing is put
/// together that would have to be written.
#[derive(Clone, Default)]
pub struct Tracer {
    sink: Option<Arc<dyn TraceSink>>,
    plugin: Option<Arc<str>>,
}

// === impl Tracer ===

impl Tracer {
    /// Writes there, about no plugin in particular.
    pub fn new(sink: Arc<dyn TraceSink>) -> Self {
        Self { sink: Some(sink), plugin: None }
    }

    /// Writes to the same place, about this plugin.
    pub fn of_plugin(&self, plugin: impl Into<Arc<str>>) -> Self {
        Self { sink: self.sink.clone(), plugin: Some(plugin.into()) }
    }

    /// True where somebody reads what is written.
    pub fn is_on(&self) -> bool {
        self.sink.is_some()
    }

    /// Writes what `step` says, which is asked only where somebody reads it.
    #[inline]
    pub fn note(&self, source: &Source, step: impl FnOnce() -> (ObjectKey, Step)) {
        if let Some(sink) = &self.sink {
            let (key, step) = step();
            sink.record(Traced { source: Some(source.clone()), key, plugin: self.plugin.clone(), step });
        }
    }

    /// Writes what `step` says about a key of the plugin's own workqueue. One that is no `namespace/name` is no object's,
    /// and nobody could ask for it: nothing is written.
    #[inline]
    pub fn note_key(&self, key: &str, step: impl FnOnce() -> Step) {
        if let Some(sink) = &self.sink
            && key.len() <= MAX_KEY_BYTES
            && let Ok(key) = key.parse()
        {
            sink.record(Traced { source: None, key, plugin: self.plugin.clone(), step: step() });
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("on", &self.is_on()).field("plugin", &self.plugin).finish()
    }
}
