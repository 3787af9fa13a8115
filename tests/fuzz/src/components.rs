//! Readers of components: the count of what an instance takes, `informer inspect`, and the look-up of lines in debug information.
//! All of them read bytes of an author before anything has checked them.

use std::borrow::Cow;

use informer_author::Inspection;
use informer_runtime::{LoadError, offline};

/// The most bytes that the structures of one instance may take: the limits of each of them, and what a binary of the longest input
/// can name besides.
const STRUCTURE_BYTES: u64 = 4 << 20;

/// The longest text of a place: a function, a path, and a line.
const PLACE_BYTES: usize = 512 + 512 + 32;

/// The longest text of an error.
const MESSAGE_BYTES: usize = 8 << 10;

/// A custom section without a name, which no reader knows.
const UNKNOWN_SECTION: [u8; 3] = [0, 1, 0];

/// The text of a component, or its bytes.
pub(crate) fn run(input: &[u8]) {
    let component = component(input);
    let longer = [&component[..], &UNKNOWN_SECTION].concat();
    match offline::structure_bytes(&component) {
        Ok(bytes) => {
            assert!(bytes <= STRUCTURE_BYTES, "{bytes}");
            assert_eq!(offline::structure_bytes(&longer).ok(), Some(bytes), "an unknown section counts");
        }
        Err(LoadError::TooMany { found, limit, .. }) => assert!(found > limit, "{found} of {limit}"),
        Err(error) => assert!(error.to_string().len() <= MESSAGE_BYTES, "{error}"),
    }
    if let Ok(inspection) = Inspection::of(&component) {
        assert_eq!(offline::declared_reads(&component), inspection.reads);
        let custom_bytes = inspection.custom_bytes + 1;
        assert_eq!(Inspection::of(&longer).ok(), Some(Inspection { custom_bytes, ..inspection }));
    }
    for offset in [0, component.len() / 2, component.len().saturating_sub(1)] {
        for place in offline::places(&component, offset, 1) {
            assert!(place.len() <= PLACE_BYTES, "{place}");
        }
    }
}

fn component(input: &[u8]) -> Cow<'_, [u8]> {
    let text = std::str::from_utf8(input).ok().filter(|text| text.starts_with('('));
    text.and_then(|text| wat::parse_str(text).ok()).map_or(Cow::Borrowed(input), Cow::Owned)
}
