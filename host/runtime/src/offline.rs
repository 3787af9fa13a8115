//! Reads components without compiling them: bytes of an author, or bytes that were made by a test.

use informer_types::DeclaredReads;

use crate::{
    LoadError, component,
    debug_info::{Frame, Place, Sections, answer, query},
};

/// The bytes that the host allocates for one instance, beside its memories and the elements of its tables.
///
/// # Errors
/// [`LoadError::TooMany`] if an instance has more than the host allows, and other errors if the bytes cannot be read.
pub fn structure_bytes(component: &[u8]) -> Result<u64, LoadError> {
    component::structure_bytes(component)
}

/// What a component declares to read. If it has several declarations, the last one counts. Bytes behind damage declare nothing.
pub fn declared_reads(component: &[u8]) -> DeclaredReads {
    component::declared_reads(component)
}

/// The places of an instruction in the sources, innermost first, as the failure of a call shows them. `offset` is the place of the
/// instruction in the component, and `function` the index of its function in the core module. Returns an empty list if the
/// component has no debug information for it.
pub fn places(component: &[u8], offset: usize, function: u32) -> Vec<String> {
    let Some(sections) = Sections::of(component, component) else { return Vec::new() };
    let question = query(&sections, vec![Frame { offset, function, name: None }], String::new());
    let answered = answer(&question).unwrap_or_default();
    let places: Vec<Vec<Place>> = serde_json::from_slice(&answered).unwrap_or_default();
    places.iter().flatten().map(Place::to_string).collect()
}
