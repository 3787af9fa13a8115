//! Custom sections of a component: what its toolchain says about it.

use informer_types::DeclaredReads;
use wasmparser::{Parser, Payload};

/// The contents of the custom section of this name in the component itself, not in its parts. If there are several, the last one
/// counts. Bytes behind damage are not read.
pub(super) fn custom_section<'a>(component: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let (mut found, mut depth) = (None, 0_usize);
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 0 && section.name() == name => {
                found = Some(section.data());
            }
            _ => {}
        }
    }
    found
}

/// What the component declares to read.
pub(crate) fn declared_reads(component: &[u8]) -> DeclaredReads {
    custom_section(component, DeclaredReads::SECTION).map(DeclaredReads::of_section).unwrap_or_default()
}
