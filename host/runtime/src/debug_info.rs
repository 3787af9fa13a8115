//! Debug information of components: the sections that describe functions and lines, and the places of frames in them.
//!
//! The author of a component writes these sections, so their bytes are hostile. This process only finds the sections and counts
//! their bytes. [`answer`] interprets them, and runs in the process that compiles, with its limits of time and memory.

mod lookup;
mod place;
mod query;
mod sections;

use serde::{Deserialize, Serialize};

pub(crate) use lookup::answer;
pub(crate) use place::Place;
pub(crate) use query::query;
pub(crate) use sections::Sections;

/// A frame of a failed call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// The place of the instruction in the running component.
    pub(crate) offset: usize,
    /// The index of the function in its core module.
    pub(crate) function: u32,
    /// The name that the component gives to the function, cut at a bound.
    pub(crate) name: Option<String>,
}

// === impl Frame ===

impl Frame {
    pub(crate) fn of(frame: &wasmtime::FrameInfo) -> Self {
        Self {
            offset: frame.module_offset().unwrap_or_default(),
            function: frame.func_index(),
            name: frame.func_name().map(place::bounded_name),
        }
    }

    /// The place of the frame without debug information. Returns `None` if the function has no name.
    pub(crate) fn named(&self) -> Option<Place> {
        self.name.as_deref().map(Place::unlocated)
    }
}

#[cfg(test)]
mod tests;
