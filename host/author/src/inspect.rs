//! What a WebAssembly file is: its imports and exports, its sizes and the toolchain that made it. Nothing is compiled or run.

mod advice;
mod toolchain;

use std::fmt;

use informer_types::DeclaredReads;
use wasmparser::{CustomSectionReader, Encoding, KnownCustom, Parser, Payload};

pub use toolchain::Toolchain;

/// The package of the interfaces between the host and its plugins.
const PACKAGE: &str = "informer:plugin/";

/// The bytes that every WebAssembly file begins with.
const MAGIC: &[u8] = b"\0asm";

/// The most bytes shown of a file that is not WebAssembly.
const SHOWN: usize = 16;

/// Components inside one another, at most.
const DEPTH: usize = 32;

/// The most imports, and the most exports. Real files have at most a few thousand, and each name takes more memory than file.
const NAMES: usize = 1 << 16;

/// The most bytes of the names of all imports and exports. Real files have a few hundred KiB. The import section of a core module may
/// name a module once for many imports, so the names of a small file may take more memory than this process has.
const NAME_BYTES: usize = 8 << 20;

/// The size of a page of a linear memory, if the module does not choose another.
const PAGE_BYTES: u64 = 64 << 10;

/// A file that is no WebAssembly that can be read.
#[derive(Debug, thiserror::Error)]
pub enum NotWasm {
    /// The bytes do not begin with the four bytes of WebAssembly. The text describes what they begin with.
    #[error("not WebAssembly: {0}")]
    Foreign(String),
    /// The bytes break the rules of the format.
    #[error("damaged WebAssembly")]
    Malformed(#[from] wasmparser::Error),
    /// Components are nested deeper than any toolchain nests them.
    #[error("components are nested deeper than {DEPTH} levels")]
    Nested,
    /// The file has more imports or exports than any toolchain writes.
    #[error("more than {NAMES} imports or exports")]
    TooMany,
    /// The names of the imports and exports are longer than those that any toolchain writes.
    #[error("the names of imports and exports have more than {NAME_BYTES} bytes")]
    TooLong,
    /// The end is missing, as in a copy that was interrupted.
    #[error("the file is cut off")]
    CutOff,
}

/// The two kinds of WebAssembly files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A component, which is what the host loads.
    Component,
    /// A core module, which a component is made from.
    Module,
}

/// The contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Component or core module.
    pub kind: Kind,
    /// Full names of the imports, in the order of the file. Those of a core module have the form `module/field`.
    pub imports: Vec<String>,
    /// Full names of the exports, in the order of the file.
    pub exports: Vec<String>,
    /// The number of core modules in a component, at any depth; 1 for a core module.
    pub modules: usize,
    /// The number of linear memories that the modules define.
    pub memories: usize,
    /// The bytes of these memories before the first call. The guest may grow them.
    pub memory_bytes: u64,
    /// The bytes of custom sections at any depth: names, debug information and metadata, which the host does not load.
    pub custom_bytes: u64,
    /// The toolchain that made the file, if it is known.
    pub toolchain: Option<Toolchain>,
    /// What the component declares to read.
    pub reads: DeclaredReads,
}

/// The definition that is being read.
struct Open {
    encoding: Encoding,
    bytes: usize,
}

/// The data collected while a file is read.
struct Reading {
    /// The bytes of the file.
    length: usize,
    inspection: Inspection,
    /// The bytes of the names of imports and exports so far.
    name_bytes: usize,
    open: Vec<Open>,
    signs: toolchain::Signs,
}

// === impl Inspection ===

impl Inspection {
    /// Reads a file.
    ///
    /// # Errors
    /// The bytes are no WebAssembly, or damaged.
    pub fn of(bytes: &[u8]) -> Result<Self, NotWasm> {
        if !bytes.starts_with(MAGIC) {
            return Err(NotWasm::Foreign(beginning(bytes)));
        }
        let mut reading = Reading::new(bytes);
        for payload in Parser::new(0).parse_all(bytes) {
            reading.read(payload?)?;
        }
        let Reading { mut inspection, signs, .. } = reading;
        inspection.toolchain = signs.toolchain(bytes);
        Ok(inspection)
    }

    /// The version of `informer:plugin` that the component was built against. If it names several, the first one.
    #[must_use]
    pub fn wit_version(&self) -> Option<&str> {
        let mut names = self.exports.iter().chain(&self.imports);
        names.find_map(|name| Some(name.strip_prefix(PACKAGE)?.split_once('@')?.1))
    }

    /// How a core module becomes a component, with the tools of the language that made it. Returns `None` for a component.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        (self.kind == Kind::Module).then(|| advice::for_module(self.toolchain.as_ref(), &self.imports))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Component => "component",
            Self::Module => "core module",
        })
    }
}

// === impl Reading ===

impl Reading {
    fn new(bytes: &[u8]) -> Self {
        let component = Parser::is_component(bytes);
        let inspection = Inspection {
            kind: if component { Kind::Component } else { Kind::Module },
            imports: Vec::new(),
            exports: Vec::new(),
            modules: 0,
            memories: 0,
            memory_bytes: 0,
            custom_bytes: 0,
            toolchain: None,
            reads: DeclaredReads::default(),
        };
        let signs = toolchain::Signs::default();
        Self { length: bytes.len(), inspection, name_bytes: 0, open: Vec::new(), signs }
    }

    fn read(&mut self, payload: Payload<'_>) -> Result<(), NotWasm> {
        match payload {
            Payload::Version { encoding, range, .. } => {
                if self.open.len() >= DEPTH {
                    return Err(NotWasm::Nested);
                }
                if encoding == Encoding::Module {
                    self.inspection.modules += 1;
                }
                self.open.push(Open { encoding, bytes: range.start });
            }
            Payload::End(end) => {
                if let Some(Open { encoding: Encoding::Module, bytes: start }) = self.open.pop() {
                    self.signs.module_ends(end.saturating_sub(start));
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory?;
                    let page = memory.page_size_log2.map_or(PAGE_BYTES, |log2| 1 << log2.min(16));
                    self.inspection.memories += 1;
                    let bytes = memory.initial.saturating_mul(page);
                    self.inspection.memory_bytes = self.inspection.memory_bytes.saturating_add(bytes);
                }
            }
            // The parser accepts a definition that is cut off between two of its sections.
            Payload::ModuleSection { unchecked_range, .. }
            | Payload::ComponentSection { unchecked_range, .. }
                if unchecked_range.end > self.length =>
            {
                return Err(NotWasm::CutOff);
            }
            Payload::CustomSection(section) => self.custom(&section),
            payload if self.open.len() == 1 => self.outermost(payload)?,
            _ => {}
        }
        Ok(())
    }

    fn custom(&mut self, section: &CustomSectionReader<'_>) {
        let bytes = section.range().len() as u64;
        self.inspection.custom_bytes = self.inspection.custom_bytes.saturating_add(bytes);
        self.signs.section(section.name());
        if self.open.len() == 1 && section.name() == DeclaredReads::SECTION {
            self.inspection.reads = DeclaredReads::of_section(section.data());
        }
        // A section that is damaged says nothing, and harms nothing.
        if let KnownCustom::Producers(fields) = section.as_known() {
            for field in fields.into_iter().flatten() {
                for value in field.values.into_iter().flatten() {
                    self.signs.producer(self.open.len() == 1, field.name, value.name, value.version);
                }
            }
        }
    }

    /// Reads the imports and exports of the file itself.
    fn outermost(&mut self, payload: Payload<'_>) -> Result<(), NotWasm> {
        let (Inspection { imports, exports, .. }, total) = (&mut self.inspection, &mut self.name_bytes);
        match payload {
            Payload::ComponentImportSection(section) => {
                for import in section {
                    push(imports, total, import?.name.name.to_owned())?;
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    push(exports, total, export?.name.name.to_owned())?;
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    push(imports, total, format!("{}/{}", import.module, import.name))?;
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    push(exports, total, export?.name.to_owned())?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The beginning of a file that is not WebAssembly, as a person recognizes it.
fn beginning(bytes: &[u8]) -> String {
    if MAGIC.starts_with(bytes) {
        return if bytes.is_empty() { "the file is empty" } else { "the file is cut off" }.to_owned();
    }
    let text = String::from_utf8_lossy(bytes.get(..SHOWN).unwrap_or(bytes));
    format!("the file begins with {text:?}")
}

/// Adds a name, unless there are too many names, or the names have too many bytes together.
fn push(names: &mut Vec<String>, total: &mut usize, name: String) -> Result<(), NotWasm> {
    if names.len() == NAMES {
        return Err(NotWasm::TooMany);
    }
    *total = total.saturating_add(name.len());
    if *total > NAME_BYTES {
        return Err(NotWasm::TooLong);
    }
    names.push(name);
    Ok(())
}

#[cfg(test)]
mod tests;
