//! The decisions of the stages about an object, step by step, as `informer explain` shows them.

mod step;

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};

use crate::{ObjectKey, Source};

pub use step::{Enqueued, KeyThen, Step, Then, WatchVerb};

/// The maximum size of a key: a namespace and a name of 253 bytes each.
const MAX_KEY_BYTES: usize = 2 * 253 + 1;

/// The number of digits of a 64-bit number; Kubernetes sends no longer versions in practice.
const MAX_VERSION_BYTES: usize = 20;

/// One step of one object. It contains names, versions and numbers, never any part of an object's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The shared informer that serves the object. `None` for a key of a plugin's own workqueue, which may name an
    /// object of any resource.
    pub source: Option<Source>,
    /// The object.
    pub key: ObjectKey,
    /// The plugin that the decision is for. `None` means all plugins.
    pub plugin: Option<Arc<str>>,
    /// The decision.
    pub step: Step,
}

/// A resource version, verbatim up to 20 bytes; a longer one is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version {
    length: u8,
    bytes: [u8; MAX_VERSION_BYTES],
}

/// Stores steps. `host` implements it with a bounded ring.
pub trait TraceSink: Send + Sync + 'static {
    /// Stores one step. It is called on the path of every event with the locks of a stage held, so it must return at
    /// once and must not call the stage.
    ///
    /// # Ordering
    /// Steps of one object for one plugin arrive in the order of the decisions.
    fn record(&self, traced: Traced);
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
    /// Records to `sink`, for all plugins.
    pub fn new(sink: Arc<dyn TraceSink>) -> Self {
        Self { sink: Some(sink), plugin: None }
    }

    /// Records to the same sink, for this plugin.
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
        if let Some(sink) = &self.sink {
            let (key, step) = step();
            sink.record(Traced { source: Some(source.clone()), key, plugin: self.plugin.clone(), step });
        }
    }

    /// Records a decision about a key of the plugin's own workqueue. A key that is not `namespace/name` names no object
    /// and is not recorded.
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

// === impl Version ===

impl Version {
    /// The text.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        // The text was cut between two characters.
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl From<&str> for Version {
    fn from(text: &str) -> Self {
        let text = &text.as_bytes().get(..text.floor_char_boundary(MAX_VERSION_BYTES)).unwrap_or_default();
        let mut bytes = [0; MAX_VERSION_BYTES];
        bytes.iter_mut().zip(*text).for_each(|(to, from)| *to = *from);
        // The length is at most 20.
        Self { length: text.len() as u8, bytes }
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_kept_verbatim_and_a_very_long_one_is_cut_between_characters() {
        for (text, kept) in [
            ("", ""),
            ("007", "007"),
            ("18446744073709551615", "18446744073709551615"),
            ("a-version-of-some-other-server", "a-version-of-some-ot"),
            ("nineteen-characters\u{e9}", "nineteen-characters"),
        ] {
            assert_eq!(Version::from(text).as_str(), kept);
        }
    }
}
