//! The sections of a binary that describe its functions and lines, as bytes.

use std::ops::Range;

use wasmparser::{BinaryReaderError, Parser, Payload};

/// The most bytes of debug information that are kept for a component. Tables of lines of a Rust plugin have one or two million.
const KEPT_BYTES: usize = 16 << 20;

/// The most core modules, and the most sections of debug information in all of them. Components of the known compilers have at
/// most a few dozen.
const MODULES: usize = 1000;
const SECTIONS: usize = 1000;

/// The section with the names of functions.
pub(super) const NAMES: &str = "name";

/// The sections of the core modules of a component, in their order, that have debug information. They are bounded and not
/// interpreted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sections(pub(super) Vec<Module>);

/// One core module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Module {
    /// The place of its code in the running component.
    pub(super) code: Range<usize>,
    /// The names of functions and the sections of DWARF, each with its name.
    pub(super) sections: Vec<(Box<str>, Box<[u8]>)>,
}

/// A core module in a binary.
#[derive(Default)]
struct Found<'a> {
    code: Range<usize>,
    sections: Vec<(&'a str, &'a [u8])>,
}

// === impl Sections ===

impl Sections {
    /// The sections of `debug`, which is the running component with debug information. Returns `None` if it is another component,
    /// has no debug information, or has more than is kept.
    pub(crate) fn of(running: &[u8], debug: &[u8]) -> Option<Self> {
        let (running, described) = (modules(running).ok()??, modules(debug).ok()??);
        let same = running.len() == described.len()
            && running.iter().zip(&described).all(|(a, b)| a.code.len() == b.code.len());
        let sections = || described.iter().flat_map(|module| &module.sections);
        let bytes: usize = sections().map(|(name, bytes)| name.len() + bytes.len()).sum();
        if !same || bytes > KEPT_BYTES || sections().count() > SECTIONS {
            return None;
        }
        let modules = running.into_iter().zip(described).map(|(running, described)| Module {
            code: running.code,
            sections: described
                .sections
                .into_iter()
                .map(|(name, bytes)| (name.into(), bytes.into()))
                .collect(),
        });
        let modules: Vec<Module> = modules.filter(|module| !module.sections.is_empty()).collect();
        (!modules.is_empty()).then_some(Self(modules))
    }

    /// Returns true if the instruction belongs to one of the modules.
    pub(crate) fn describes(&self, offset: usize) -> bool {
        self.0.iter().any(|module| module.code.contains(&offset))
    }
}

/// The core modules of a component in their order, at any depth. Returns `None` if there are too many.
fn modules(component: &[u8]) -> Result<Option<Vec<Found<'_>>>, BinaryReaderError> {
    let mut found: Vec<Found<'_>> = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } if found.len() >= MODULES => return Ok(None),
            Payload::ModuleSection { .. } => found.push(Found::default()),
            Payload::CodeSectionStart { range, .. } => {
                if let Some(module) = found.last_mut() {
                    module.code = range;
                }
            }
            Payload::CustomSection(section) => {
                let Some(module) = found.last_mut() else { continue };
                if section.name() == NAMES || section.name().starts_with(".debug_") {
                    if module.sections.len() > SECTIONS {
                        return Ok(None);
                    }
                    module.sections.push((section.name(), section.data()));
                }
            }
            _ => {}
        }
    }
    Ok(Some(found))
}
