//! The debug information of a component: names of functions and lines of sources. It moves into a file of its own, because it is
//! several times as large as the code.

use std::path::Path;

use informer_types::DebugOf;

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

/// A component or a core module without the sections that only describe its code.
fn without(binary: &[u8], depth: usize) -> Option<Vec<u8>> {
    let (preamble, mut rest) = binary.split_at_checked(PREAMBLE)?;
    let in_component = preamble.ends_with(COMPONENT);
    let mut kept = preamble.to_vec();
    while let Some((&id, after)) = rest.split_first() {
        let (length, after) = number(after)?;
        let (contents, next) = after.split_at_checked(length)?;
        rest = next;
        let changed = match id {
            CUSTOM if describes_code(contents) => continue,
            CORE_MODULE | NESTED_COMPONENT if in_component => {
                Some(without(contents, depth + 1).filter(|_| depth < DEPTH)?)
            }
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
    let name = number(contents).and_then(|(length, rest)| rest.get(..length));
    name.is_some_and(|name| name == b"name" || name.starts_with(b".debug_"))
}

/// A number in LEB128, and what follows it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        number |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(at + 1..)?));
        }
    }
    None
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
    fn no_cut_of_a_component_leads_to_a_panic() {
        let whole = component("");
        let split: Vec<bool> =
            (0..whole.len()).map(|at| split(&whole[..at], Path::new("")).is_some()).collect();

        assert!(split.contains(&false));
    }
}
