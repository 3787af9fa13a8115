//! The functions and the lines of its sources in which a guest failed, from the debug information of its component.
//!
//! The information is in the component, or in a debug file beside it (`informer build` writes both). It is read when the component
//! is loaded from a file of the operator; what a registry sends is never read for it.

use std::{collections::HashMap, fmt, ops::Range, path::Path, sync::Arc};

use addr2line::{
    Context,
    gimli::{self, Dwarf, EndianSlice, LittleEndian, SectionId},
};
use informer_system::read_file;
use informer_types::DebugOf;
use parking_lot::Mutex;
use wasmparser::{BinaryReaderError, KnownCustom, Name, Parser, Payload};
use wasmtime::FrameInfo;

use crate::engine::{InUse, sha256_hex};

/// The most bytes of debug information that are kept for a component. Tables of lines of a Rust plugin have one or two million.
const KEPT_BYTES: usize = 16 << 20;

/// The most frames whose places are remembered: a plugin that fails again and again fails at the same places.
const REMEMBERED: usize = 512;

/// The bytes behind the head of a loop in which a line is searched for.
const LOOP_HEAD: u64 = 16;

/// Parts of paths of code that is not the author's: the standard library, packages, the SDKs and generated bindings.
const FOREIGN: [&str; 9] = [
    "/rustc/",
    "/rustlib/",
    "/registry/src/",
    "/git/checkouts/",
    "/plugins/sdk/",
    "/ziglang/",
    "/zig/",
    "/wasi-libc/",
    "/wasi-sysroot/",
];

/// Folders of a project whose code is not the author's.
const FOREIGN_FOLDERS: [&str; 4] = ["sdk/", "bindings/", "target/", ".."];

/// Functions and lines of a component.
pub(crate) struct Symbols {
    modules: Vec<Module>,
    /// The folder of the project.
    folder: String,
    /// The places of frames by their offset in the component.
    remembered: Mutex<HashMap<usize, Vec<Place>>>,
}

/// One core module.
struct Module {
    /// The place of its code in the running component.
    code: Range<usize>,
    /// The sections with DWARF by their names. Empty if the compiler gives no lines.
    sections: Vec<(Box<str>, Box<[u8]>)>,
    /// The names of functions by their index, sorted.
    names: Vec<(u32, Box<str>)>,
}

/// A place in the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The name of the function, demangled.
    pub(crate) function: String,
    /// The file with the line. `None` if the compiler gives no lines.
    line: Option<(String, u32)>,
}

/// A core module in a binary.
#[derive(Default)]
struct Found<'a> {
    code: Range<usize>,
    sections: Vec<(&'a str, &'a [u8])>,
    names: Vec<(u32, &'a str)>,
}

// === impl Symbols ===

impl Symbols {
    /// The functions and lines of a component in a file, from its debug file or from the file itself. Returns `None` if there are
    /// none. A debug file of another component is ignored: it is older or newer. Plugins with the same component and the same
    /// debug information share them.
    pub(super) fn of_file(
        in_use: &InUse<Self>,
        path: &Path,
        component: &[u8],
        digest: &str,
        limit: u64,
    ) -> Option<Arc<Self>> {
        let shared = |contents: Arc<str>, debug: &[u8], folder| match in_use.get(&contents) {
            Some(symbols) => Some(symbols),
            None => {
                let symbols = Self::of(component, debug, folder)?;
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

    /// `debug` is the same component with debug information. Returns `None` if it is not, or has none.
    fn of(component: &[u8], debug: &[u8], folder: String) -> Option<Self> {
        let (running, described) = (modules(component).ok()?, modules(debug).ok()?);
        let same = running.len() == described.len()
            && running.iter().zip(&described).all(|(a, b)| a.code.len() == b.code.len());
        let bytes: usize = described.iter().map(Found::bytes).sum();
        if !same || bytes > KEPT_BYTES {
            return None;
        }
        let modules = running.into_iter().zip(described).map(|(running, described)| Module {
            code: running.code,
            sections: described
                .sections
                .iter()
                .map(|(name, bytes)| ((*name).into(), (*bytes).into()))
                .collect(),
            names: described.names.into_iter().map(|(index, name)| (index, name.into())).collect(),
        });
        let modules: Vec<Module> =
            modules.filter(|module| !module.sections.is_empty() || !module.names.is_empty()).collect();
        (!modules.is_empty()).then(|| Self { modules, folder, remembered: Mutex::default() })
    }

    /// The places of a frame, innermost first: its function, before that the functions that became part of it. Returns an empty list if
    /// nothing is known about the frame.
    pub(crate) fn places(&self, frame: &FrameInfo) -> Vec<Place> {
        let offset = frame.module_offset().unwrap_or_default();
        let mut remembered = self.remembered.lock();
        if let Some(places) = remembered.get(&offset) {
            return places.clone();
        }
        let places = self.look_up(offset, frame.func_index());
        if remembered.len() < REMEMBERED {
            remembered.insert(offset, places.clone());
        }
        places
    }

    fn look_up(&self, offset: usize, function: u32) -> Vec<Place> {
        let Some(module) = self.modules.iter().find(|module| module.code.contains(&offset)) else {
            return Vec::new();
        };
        // Addresses of DWARF count from the start of the code.
        let places = self.lines(module, (offset - module.code.start) as u64).unwrap_or_default();
        if !places.is_empty() {
            return places;
        }
        let found = module.names.binary_search_by_key(&function, |(index, _)| *index).ok();
        let name = found.and_then(|at| module.names.get(at));
        name.map(|(_, name)| Place::unlocated(name)).into_iter().collect()
    }

    /// The places of an address, or else of the code closely behind it: compilers give no line to the head of a loop, where a missed
    /// deadline is noticed.
    fn lines(&self, module: &Module, address: u64) -> Option<Vec<Place>> {
        let context = module.context()?;
        let places = self.at(&context, address)?;
        if places.first().is_none_or(Place::has_line) {
            return Some(places);
        }
        let mut behind = (1..=LOOP_HEAD).filter_map(|step| self.at(&context, address + step));
        behind.find(|places| places.first().is_some_and(Place::has_line)).or(Some(places))
    }

    /// The places of an address. A table that is damaged ends the list.
    fn at(&self, context: &Context<EndianSlice<'_, LittleEndian>>, address: u64) -> Option<Vec<Place>> {
        let mut places = Vec::new();
        let mut frames = context.find_frames(address).skip_all_loads().ok()?;
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned()));
            let line = frame.location.as_ref().and_then(|at| Some((self.relative(at.file?), at.line?)));
            places.extend(function.map(|function| Place { function, line }));
        }
        Some(places)
    }

    /// The path of a source, relative to the folder of the project.
    fn relative(&self, path: &str) -> String {
        let inside = path.strip_prefix(&self.folder).and_then(|path| path.strip_prefix('/'));
        inside.unwrap_or(path).trim_start_matches("./").to_owned()
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Symbols of {} modules", self.modules.len())
    }
}

// === impl Module ===

impl Module {
    fn context(&self) -> Option<Context<EndianSlice<'_, LittleEndian>>> {
        let section = |id: SectionId| {
            let found = self.sections.iter().find(|(name, _)| **name == *id.name());
            Ok::<_, gimli::Error>(EndianSlice::new(found.map_or(&[], |(_, bytes)| bytes), LittleEndian))
        };
        Context::from_dwarf(Dwarf::load(section).ok()?).ok()
    }
}

// === impl Place ===

impl Place {
    /// A function whose source is not known. Its name is demangled.
    pub(crate) fn unlocated(name: &str) -> Self {
        Self { function: addr2line::demangle_auto(name.into(), None).into_owned(), line: None }
    }

    /// Returns true if its file and line are known.
    pub(crate) fn has_line(&self) -> bool {
        self.line.is_some()
    }

    /// Returns true for code that the author of the plugin wrote, as far as its path shows.
    pub(crate) fn is_of_the_author(&self) -> bool {
        self.line.as_ref().is_some_and(|(file, _)| {
            !FOREIGN.iter().any(|part| file.contains(part))
                && !FOREIGN_FOLDERS.iter().any(|folder| file.starts_with(folder))
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            Some((file, line)) => write!(f, "{} ({file}:{line})", self.function),
            None => f.write_str(&self.function),
        }
    }
}

// === impl Found ===

impl Found<'_> {
    fn bytes(&self) -> usize {
        let names: usize = self.names.iter().map(|(_, name)| name.len()).sum();
        self.sections.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() + names
    }
}

/// The core modules of a component in their order, at any depth.
fn modules(component: &[u8]) -> Result<Vec<Found<'_>>, BinaryReaderError> {
    let mut found: Vec<Found<'_>> = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } => found.push(Found::default()),
            Payload::CodeSectionStart { range, .. } => {
                if let Some(module) = found.last_mut() {
                    module.code = range;
                }
            }
            Payload::CustomSection(section) => {
                let Some(module) = found.last_mut() else { continue };
                if section.name().starts_with(".debug_") {
                    module.sections.push((section.name(), section.data()));
                } else if let KnownCustom::Name(names) = section.as_known() {
                    // Names that are damaged are left out.
                    let functions = names.into_iter().flatten().filter_map(|name| match name {
                        Name::Function(functions) => Some(functions),
                        _ => None,
                    });
                    let names = functions.flatten().flatten().map(|naming| (naming.index, naming.name));
                    module.names.extend(names);
                    module.names.sort_unstable_by_key(|(index, _)| *index);
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The component that a debug file belongs to. Returns `None` if it is not a debug file.
fn debug_of(debug: &[u8]) -> Option<DebugOf> {
    let payloads = Parser::new(0).parse_all(debug).map_while(Result::ok);
    let sections = payloads.filter_map(|payload| match payload {
        Payload::CustomSection(section) if section.name() == DebugOf::SECTION => Some(section.data()),
        _ => None,
    });
    serde_json::from_slice(sections.last()?).ok()
}

#[cfg(test)]
mod tests;
