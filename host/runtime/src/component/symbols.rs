//! The functions and source lines in which a call of a guest failed, from the debug information of its component.
//!
//! The debug information is in the component, or in a debug file beside it (`informer build` writes both). The host keeps it only
//! for a component that is loaded from a file of the operator, never for a component from a registry. When a call fails, another
//! process looks up the places.

use std::{
    collections::HashMap,
    fmt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use informer_system::read_file;
use informer_types::DebugOf;
use parking_lot::Mutex;

use super::custom_section::custom_section;
use crate::{
    debug_info::{Frame, Place, Sections, query},
    engine::{InUse, LookUp, sha256_hex},
};

/// The most frames whose places are remembered, and the most bytes of their texts: a plugin that fails again and again fails at the
/// same places. Frames beyond these bounds have no lines.
const REMEMBERED: usize = 512;
const REMEMBERED_BYTES: usize = 1 << 20;

/// The longest time that all look-ups of one component may take together, with the waits for their turns and for a processor.
const ALL_LOOK_UPS: Duration = Duration::from_secs(120);

/// Functions and lines of a component.
pub(crate) struct Symbols {
    sections: Sections,
    /// The folder of the project.
    folder: String,
    look_up: Arc<LookUp>,
    remembered: Mutex<Remembered>,
}

/// The places that look-ups found, and the bounds of further ones.
#[derive(Default)]
struct Remembered {
    /// The places of frames by their offset in the component.
    places: HashMap<usize, Vec<Place>>,
    bytes: usize,
    /// The time that the look-ups took.
    spent: Duration,
    /// True after a look-up that failed. The next one would fail too, so there is none.
    failed: bool,
}

// === impl Symbols ===

impl Symbols {
    /// The functions and lines of a component in a file, from its debug file or from the file itself. Returns `None` if there are
    /// none. A debug file of another component is ignored: it is older or newer. Plugins with the same component and the same
    /// debug information share them.
    pub(super) fn of_file(
        (in_use, look_up): (&InUse<Self>, &Arc<LookUp>),
        path: &Path,
        component: &[u8],
        digest: &str,
        limit: u64,
    ) -> Option<Arc<Self>> {
        let shared = |contents: Arc<str>, debug: &[u8], folder| match in_use.get(&contents) {
            Some(symbols) => Some(symbols),
            None => {
                let symbols = Self::of(component, debug, folder, Arc::clone(look_up))?;
                Some(in_use.share(&contents, || symbols))
            }
        };
        let beside = read_file(&DebugOf::file(path), limit).ok();
        let beside = beside.and_then(|debug| {
            let debug_of = debug_of(&debug).filter(|debug_of| debug_of.component == digest)?;
            shared(format!("{digest} {}", sha256_hex(&debug)).into(), &debug, debug_of.folder)
        });
        beside.or_else(|| shared(digest.into(), component, String::new()))
    }

    /// `debug` should be the same component with debug information. Returns `None` if it is another component, or if it has no debug
    /// information or more than the host keeps.
    fn of(component: &[u8], debug: &[u8], folder: String, look_up: Arc<LookUp>) -> Option<Self> {
        let sections = Sections::of(component, debug)?;
        Some(Self { sections, folder, look_up, remembered: Mutex::default() })
    }

    /// The places of each frame, innermost first: the functions that were inlined, then the function of the frame itself. The
    /// list is empty if nothing is known about the frame. Another process looks up the places that are not remembered, one
    /// look-up at a time.
    ///
    /// # Cancel safety
    /// If the future is dropped, the look-up ends and nothing is remembered.
    pub(crate) async fn places(&self, frames: &[Frame]) -> Vec<Vec<Place>> {
        let unknown = self.remembered.lock().unknown(frames, &self.sections);
        if !unknown.is_empty() {
            let offsets: Vec<usize> = unknown.iter().map(|frame| frame.offset).collect();
            let begun = Instant::now();
            let query = || query(&self.sections, unknown, self.folder.clone());
            let found = self.look_up.places(query).await;
            self.remembered.lock().remember(offsets, found, begun.elapsed());
        }
        let remembered = self.remembered.lock();
        frames.iter().map(|frame| remembered.places.get(&frame.offset).cloned().unwrap_or_default()).collect()
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").field("folder", &self.folder).finish_non_exhaustive()
    }
}

// === impl Remembered ===

impl Remembered {
    /// The frames to look up: those in the code of the component whose places are not remembered. Empty if there are no more look-ups,
    /// because a bound is reached or one failed.
    fn unknown(&self, frames: &[Frame], sections: &Sections) -> Vec<Frame> {
        let no_more = self.failed
            || self.places.len() >= REMEMBERED
            || self.bytes >= REMEMBERED_BYTES
            || self.spent >= ALL_LOOK_UPS;
        let worth =
            |frame: &&Frame| !self.places.contains_key(&frame.offset) && sections.describes(frame.offset);
        if no_more { Vec::new() } else { frames.iter().filter(worth).cloned().collect() }
    }

    fn remember(
        &mut self,
        offsets: Vec<usize>,
        found: Result<Option<Vec<Vec<Place>>>, String>,
        took: Duration,
    ) {
        self.spent = self.spent.saturating_add(took);
        match found {
            Ok(found) => {
                for (offset, places) in offsets.into_iter().zip(found.into_iter().flatten()) {
                    self.bytes += places.iter().map(Place::bytes).sum::<usize>();
                    self.places.insert(offset, places);
                }
            }
            Err(error) => {
                tracing::warn!(
                    error,
                    "the debug information of a component cannot be used, so failures of its plugins name no more lines"
                );
                self.failed = true;
            }
        }
    }
}

/// The component that a debug file belongs to. Returns `None` if it is not a debug file.
fn debug_of(debug: &[u8]) -> Option<DebugOf> {
    serde_json::from_slice(custom_section(debug, DebugOf::SECTION)?).ok()
}

#[cfg(test)]
mod tests;
