//! The debug information of a component: names of functions and lines of sources. It moves into a file of its own, because it is
//! several times as large as the code.

use std::path::Path;

use informer_types::DebugOf;
use wasmparser::BinaryReader;

use crate::component::{length_into, section_into};

/// Components inside one another, at most.
const DEPTH: usize = 32;

/// The bytes before the first section.
const PREAMBLE: usize = 8;

/// The fourth 16-bit word of a preamble: a component, in contrast to a core module.
const COMPONENT: &[u8] = b"\x01\0";

/// The numbers of sections.
const CUSTOM: u8 = 0;
const CORE_MODULE: u8 = 1;
const NESTED_COMPONENT: u8 = 4;

/// The component without its debug information, and the debug file of the result. Returns `None` if it has no such
/// information, or is no component.
pub(crate) fn split(component: &[u8], folder: &Path) -> Option<(Vec<u8>, Vec<u8>)> {
    let stripped = without(component, 0)?;
    if stripped.len() == component.len() {
        return None;
    }
    let debug_of = DebugOf { component: crate::tool::hex(&stripped), folder: folder.display().to_string() };
    let mut debug = component.to_vec();
    section_into(&mut debug, DebugOf::SECTION, &serde_json::to_vec(&debug_of).ok()?);
    Some((stripped, debug))
}

/// A component or a core module without the sections that only describe its code. Returns `None` if it is cut off, or if
/// components are nested more deeply than any toolchain nests them.
fn without(binary: &[u8], depth: usize) -> Option<Vec<u8>> {
    if depth > DEPTH {
        return None;
    }
    let (preamble, sections) = binary.split_at_checked(PREAMBLE)?;
    let in_component = preamble.ends_with(COMPONENT);
    let mut kept = preamble.to_vec();
    let mut reader = BinaryReader::new(sections, 0);
    while !reader.eof() {
        let (id, length) = (reader.read_u8().ok()?, reader.read_var_u32().ok()?);
        let contents = reader.read_bytes(length.try_into().ok()?).ok()?;
        let changed = match id {
            CUSTOM if describes_code(contents) => continue,
            CORE_MODULE | NESTED_COMPONENT if in_component => Some(without(contents, depth + 1)?),
            _ => None,
        };
        let contents = changed.as_deref().unwrap_or(contents);
        kept.push(id);
        length_into(&mut kept, contents.len());
        kept.extend(contents);
    }
    Some(kept)
}

/// Returns true for the contents of a custom section with DWARF or with the names of functions.
fn describes_code(contents: &[u8]) -> bool {
    let name = BinaryReader::new(contents, 0).read_string();
    name.is_ok_and(|name| name == "name" || name.starts_with(".debug_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inspection;

    /// A component with two modules, one of them in a component of its own.
    fn component(sections: &str) -> Vec<u8> {
        let module = |name: &str| format!("(core module (func ${name} unreachable) (memory 1) {sections})");
        let text = format!(
            "(component {} (component {}) (@custom \"producers\" \"\\00\"))",
            module("outer"),
            module("inner")
        );
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn a_component_and_its_debug_file_have_the_same_code_and_the_file_names_the_component() {
        let whole = component("(@custom \".debug_info\" \"0123\") (@custom \"kept\" \"4\")");

        let (stripped, debug) = split(&whole, Path::new("/home/a/hello")).unwrap();

        let (before, after) = (Inspection::of(&whole).unwrap(), Inspection::of(&stripped).unwrap());
        assert_eq!((after.modules, after.memories), (2, 2));
        assert!(after.custom_bytes < before.custom_bytes, "{after:?}");
        let holds = |bytes: &[u8], text: &str| memchr::memmem::find(bytes, text.as_bytes()).is_some();
        assert!(!holds(&stripped, ".debug_info") && !holds(&stripped, "outer"));
        assert!(holds(&stripped, "kept") && holds(&stripped, "producers"));
        assert!(debug.starts_with(&whole));
        let named =
            format!("{{\"component\":\"{}\",\"folder\":\"/home/a/hello\"}}", crate::tool::hex(&stripped));
        assert!(debug.ends_with(named.as_bytes()), "{named}");
        assert!(Inspection::of(&debug).is_ok());
        assert_eq!(split(&stripped, Path::new("")), None, "nothing is left to remove");
    }

    #[test]
    fn a_component_that_is_nested_too_deeply_is_left_alone() {
        let empty = wat::parse_str("(component)").unwrap();
        let nested = |depth: usize| {
            (0..depth).fold(empty.clone(), |inner, _| {
                let mut outer = empty.clone();
                outer.push(NESTED_COMPONENT);
                length_into(&mut outer, inner.len());
                outer.extend(inner);
                outer
            })
        };

        assert_eq!(without(&nested(DEPTH), 0), Some(nested(DEPTH)));
        assert_eq!(without(&nested(DEPTH + 1), 0), None);
        assert_eq!(without(&nested(2_000), 0), None, "and no stack overflows");
    }

    #[test]
    fn a_component_that_is_cut_off_within_a_section_is_left_alone() {
        let whole = component("(@custom \".debug_info\" \"0123\")");
        let mut sections = vec![PREAMBLE];
        let mut reader = BinaryReader::new(&whole[PREAMBLE..], 0);
        while !reader.eof() {
            let length = reader.read_u8().and_then(|_| reader.read_var_u32()).unwrap();
            reader.read_bytes(length as usize).unwrap();
            sections.push(PREAMBLE + reader.original_position());
        }

        let without: Vec<usize> =
            (0..=whole.len()).filter(|at| without(&whole[..*at], 0).is_some()).collect();

        assert_eq!(without, sections, "only after a whole section");
    }
}
