//! What a component declares about itself.

use informer_types::DeclaredReads;
use wasmparser::{Parser, Payload};

/// What the component declares to read. If it has several declarations, the last one counts. Bytes behind damage declare nothing.
pub(crate) fn declared_reads(component: &[u8]) -> DeclaredReads {
    let (mut declared, mut depth) = (DeclaredReads::default(), 0_usize);
    for payload in Parser::new(0).parse_all(component) {
        match payload {
            Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::CustomSection(section)) if depth == 0 && section.name() == DeclaredReads::SECTION => {
                declared = DeclaredReads::of_section(section.data());
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    declared
}
