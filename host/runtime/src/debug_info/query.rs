//! A question about frames, as the bytes that the host sends to the process which answers it.
//!
//! The length of the head is a little-endian `u32`. The head is JSON; the bytes of the sections follow it in its order.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Frame, Sections, sections::Module};

/// The frames whose places are wanted, with the sections that describe them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) frames: Vec<Frame>,
    /// The folder of the project.
    pub(super) folder: String,
    pub(super) sections: Sections,
}

/// Everything but the bytes of the sections.
#[derive(Serialize, Deserialize)]
struct Head {
    frames: Vec<Frame>,
    folder: String,
    modules: Vec<ModuleHead>,
}

/// A module without the bytes of its sections.
#[derive(Serialize, Deserialize)]
struct ModuleHead {
    /// The place of its code in the running component.
    code: Range<usize>,
    /// The names and lengths of its sections.
    sections: Vec<(Box<str>, usize)>,
}

/// The bytes of a question.
pub(crate) fn query(sections: &Sections, frames: Vec<Frame>, folder: String) -> Vec<u8> {
    let head_of = |module: &Module| {
        let lengths = module.sections.iter().map(|(name, bytes)| (name.clone(), bytes.len()));
        ModuleHead { code: module.code.clone(), sections: lengths.collect() }
    };
    let head = Head { frames, folder, modules: sections.0.iter().map(head_of).collect() };
    let head = serde_json::to_vec(&head).unwrap_or_default();
    let mut bytes = u32::try_from(head.len()).unwrap_or_default().to_le_bytes().to_vec();
    bytes.extend(head);
    for (_, section) in sections.0.iter().flat_map(|module| &module.sections) {
        bytes.extend_from_slice(section);
    }
    bytes
}

// === impl Query ===

impl Query {
    /// Returns `None` if the bytes are no question.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (head, mut rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let Head { frames, folder, modules } = serde_json::from_slice(head).ok()?;
        let mut section = |(name, length): (Box<str>, usize)| {
            let (bytes, after) = rest.split_at_checked(length)?;
            rest = after;
            Some((name, bytes.into()))
        };
        let mut module = |ModuleHead { code, sections }| {
            let sections = sections.into_iter().map(&mut section).collect::<Option<_>>()?;
            Some(Module { code, sections })
        };
        let sections = Sections(modules.into_iter().map(&mut module).collect::<Option<_>>()?);
        Some(Self { frames, folder, sections })
    }
}
