//! Counts, in the binary and before it is compiled, what one instance of a component takes on the host besides its linear memory.
//!
//! A module or component that is instantiated several times counts several times. wasmtime allocates all of this at once when
//! it instantiates, and no limiter sees most of it.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ElementItems,
    ElementKind, Instance, Parser, Payload, TableInit,
};

use super::LoadError;
use crate::memory::Amount;

/// The most components inside one another. A composition has three or four.
const DEPTH: usize = 32;

/// The most definitions of one kind in one component: the limit of `wasmparser`, which checks it only when it compiles.
const DEFINITIONS: usize = 1_000;

/// Bytes that wasmtime 48 allocates for one of each, rounded up: see `VMOffsets` in `wasmtime-environ` and `Instance` in
/// `wasmtime`.
const INSTANCE: u64 = 1024;
const COMPONENT_INSTANCE: u64 = 512;
const IMPORT: u64 = 32;
const FUNCTION_REFERENCE: u64 = 32;
const TABLE: u64 = 128;
const MEMORY: u64 = 512;
const GLOBAL: u64 = 16;
const TAG: u64 = 16;
const DATA_SEGMENT: u64 = 16;
const PASSIVE_SEGMENT: u64 = 64;
const PASSIVE_ELEMENT: u64 = 16;
const CANONICAL_FUNCTION: u64 = 64;

/// The most that a component may define, and one instance of it may have. Toolchains need far less. The examples for Deployments have, in
/// this order: component instances, core instances, memories, tables, table elements, globals.
///
/// | example | | | | | | |
/// |---|---:|---:|---:|---:|---:|---:|
/// | Rust | 3 | 3 | 1 | 2 | 137 | 33 |
/// | Go | 3 | 4 | 1 | 2 | 6,544 | 11 |
/// | JavaScript (QuickJS) | 6 | 9 | 2 | 2 | 761 | 22 |
/// | Python | 4 | 14 | 1 | 2 | 5,784 | 874 |
///
/// Python links shared libraries, each an instance without a memory of its own, and its dynamic linker takes a global for each imported
/// symbol, so the limit of globals leaves room for packages with native code. Each memory reserves 4 GiB of address space.
static LIMITS: [(Count, u64, &str); 6] = [
    (|census| census.component_instances, 256, "component instances"),
    (|census| census.instances, 256, "core instances"),
    (|census| census.memories, 16, "memories"),
    (|census| census.tables, 128, "tables"),
    (|census| census.elements, 1_000_000, "table elements"),
    (|census| census.globals, 10_000, "globals"),
];

type Count = fn(&Census) -> u64;

/// The resources that one instance takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    component_instances: u64,
    instances: u64,
    memories: u64,
    tables: u64,
    /// The initial elements of all tables.
    elements: u64,
    globals: u64,
    /// Bytes of the host for all of these. The elements of tables and the pages of memories are charged when they are
    /// allocated.
    structure_bytes: u64,
}

/// A module or component that is being read.
#[derive(Default)]
struct Definition {
    /// The resources that one instance takes, counted so far.
    census: Census,
    /// Its functions, imported ones included.
    functions: u64,
    /// An upper bound of the number of functions that something refers to. wasmtime allocates a reference for each of them.
    references: u64,
    modules: Vec<Definable>,
    components: Vec<Definable>,
}

/// An entry in an index space. `None` means that the definition comes from an argument or an instance.
type Definable = Option<Census>;

/// The definitions that are being read, the innermost last.
struct Walk {
    /// The length of the binary in bytes.
    length: usize,
    open: Vec<Definition>,
    /// All modules of the binary once, whether they are instantiated or not: the compiled code has a part for each.
    defined: Census,
}

// === impl Walk ===

impl Walk {
    /// Reads one section. Returns the census at the end of the outermost component.
    fn read(&mut self, payload: Payload<'_>) -> Result<Option<Census>, LoadError> {
        match payload {
            Payload::ModuleSection { unchecked_range, .. } => {
                self.begin(Definition::module(), unchecked_range.end)?;
            }
            Payload::ComponentSection { unchecked_range, .. } => {
                self.begin(Definition::component(), unchecked_range.end)?;
            }
            Payload::End(_) => return self.end(),
            Payload::ComponentAliasSection(aliases) => {
                for alias in aliases {
                    self.alias(&alias?)?;
                }
            }
            payload => {
                if let Some(innermost) = self.open.last_mut() {
                    innermost.read_module(&payload)?;
                    innermost.read_component(payload)?;
                }
            }
        }
        Ok(None)
    }

    /// Opens a definition. The parser accepts one that is cut off between two of its sections.
    fn begin(&mut self, definition: Definition, end: usize) -> Result<(), LoadError> {
        if end > self.length {
            return Err(cut_off());
        }
        if self.open.len() >= DEPTH {
            let found = self.open.len() as u64 + 1;
            return Err(LoadError::TooMany {
                what: "components inside one another",
                found,
                limit: DEPTH as u64,
            });
        }
        self.open.push(definition);
        Ok(())
    }

    fn end(&mut self) -> Result<Option<Census>, LoadError> {
        let Some(ended) = self.open.pop() else { return Ok(None) };
        let is_module = ended.census.component_instances == 0;
        let census = ended.census();
        let Some(outer) = self.open.last_mut() else { return Ok(Some(census)) };
        if is_module {
            self.defined.add(&census);
            self.defined.check()?;
            define(&mut outer.modules, Some(census), "core modules")?;
        } else {
            define(&mut outer.components, Some(census), "components")?;
        }
        Ok(None)
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<(), LoadError> {
        let ComponentAlias::Outer { kind, count, index } = *alias else {
            return match (alias, self.open.last_mut()) {
                (ComponentAlias::InstanceExport { kind, .. }, Some(innermost)) => {
                    innermost.define(*kind, None)
                }
                _ => Ok(()),
            };
        };
        let outer = self.open.len().checked_sub(count as usize + 1).and_then(|depth| self.open.get(depth));
        let found = |space: fn(&Definition) -> &Vec<Definable>| {
            outer.and_then(|outer| space(outer).get(index as usize).copied()).flatten()
        };
        let (kind, found) = match kind {
            ComponentOuterAliasKind::CoreModule => {
                (ComponentExternalKind::Module, found(|outer| &outer.modules))
            }
            ComponentOuterAliasKind::Component => {
                (ComponentExternalKind::Component, found(|outer| &outer.components))
            }
            ComponentOuterAliasKind::CoreType | ComponentOuterAliasKind::Type => return Ok(()),
        };
        self.open.last_mut().map_or(Ok(()), |innermost| innermost.define(kind, found))
    }
}

// === impl Definition ===

impl Definition {
    fn module() -> Self {
        let census = Census { instances: 1, structure_bytes: INSTANCE, ..Census::default() };
        Self { census, ..Self::default() }
    }

    fn component() -> Self {
        let structure_bytes = COMPONENT_INSTANCE;
        let census = Census { component_instances: 1, structure_bytes, ..Census::default() };
        Self { census, ..Self::default() }
    }

    /// The resources that an instance takes, once the definition has been read.
    fn census(self) -> Census {
        let mut census = self.census;
        census.take(self.references.min(self.functions), FUNCTION_REFERENCE);
        census
    }

    fn read_module(&mut self, payload: &Payload<'_>) -> Result<(), LoadError> {
        let census = &mut self.census;
        match payload {
            Payload::ImportSection(imports) => {
                let imports = counted(imports.clone().into_imports())?;
                self.functions = self.functions.saturating_add(imports);
                census.take(imports, IMPORT);
            }
            Payload::FunctionSection(functions) => {
                self.functions = self.functions.saturating_add(counted(functions.clone())?);
            }
            Payload::TableSection(tables) => {
                for table in tables.clone() {
                    let table = table?;
                    census.tables = census.tables.saturating_add(1);
                    census.elements = census.elements.saturating_add(table.ty.initial);
                    census.take(1, TABLE);
                    let initialised = u64::from(matches!(table.init, TableInit::Expr(_)));
                    self.references = self.references.saturating_add(initialised);
                }
            }
            Payload::MemorySection(memories) => {
                let memories = counted(memories.clone())?;
                census.memories = census.memories.saturating_add(memories);
                census.take(memories, MEMORY);
            }
            Payload::GlobalSection(globals) => {
                let globals = counted(globals.clone())?;
                census.globals = census.globals.saturating_add(globals);
                census.take(globals, GLOBAL);
                self.references = self.references.saturating_add(globals);
            }
            Payload::ExportSection(exports) => {
                self.references = self.references.saturating_add(counted(exports.clone())?);
            }
            Payload::ElementSection(segments) => {
                for segment in segments.clone() {
                    let segment = segment?;
                    let elements = match &segment.items {
                        ElementItems::Functions(items) => items.count(),
                        ElementItems::Expressions(_, items) => items.count(),
                    };
                    self.references = self.references.saturating_add(elements.into());
                    if matches!(segment.kind, ElementKind::Passive) {
                        census.take(1, PASSIVE_SEGMENT);
                        census.take(elements.into(), PASSIVE_ELEMENT);
                    }
                }
            }
            Payload::TagSection(tags) => census.take(counted(tags.clone())?, TAG),
            Payload::DataSection(segments) => census.take(counted(segments.clone())?, DATA_SEGMENT),
            _ => {}
        }
        Ok(())
    }

    fn read_component(&mut self, payload: Payload<'_>) -> Result<(), LoadError> {
        match payload {
            Payload::InstanceSection(instances) => {
                for instance in instances {
                    if let Instance::Instantiate { module_index, .. } = instance? {
                        self.census.instantiate(&self.modules, module_index)?;
                    }
                }
            }
            Payload::ComponentInstanceSection(instances) => {
                for instance in instances {
                    if let ComponentInstance::Instantiate { component_index, .. } = instance? {
                        self.census.instantiate(&self.components, component_index)?;
                    }
                }
            }
            Payload::ComponentImportSection(imports) => {
                for import in imports {
                    self.define(import?.ty.kind(), None)?;
                }
            }
            // An export has an index of its own.
            Payload::ComponentExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    let of = |space: &[Definable]| space.get(export.index as usize).copied().flatten();
                    let exported = match export.kind {
                        ComponentExternalKind::Module => of(&self.modules),
                        ComponentExternalKind::Component => of(&self.components),
                        _ => None,
                    };
                    self.define(export.kind, exported)?;
                }
            }
            Payload::ComponentCanonicalSection(functions) => {
                self.census.take(counted(functions)?, CANONICAL_FUNCTION);
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a definition to the index space of core modules or of components. Other kinds are ignored.
    fn define(&mut self, kind: ComponentExternalKind, definition: Definable) -> Result<(), LoadError> {
        match kind {
            ComponentExternalKind::Module => define(&mut self.modules, definition, "core modules"),
            ComponentExternalKind::Component => define(&mut self.components, definition, "components"),
            _ => Ok(()),
        }
    }
}

fn define(space: &mut Vec<Definable>, definition: Definable, what: &'static str) -> Result<(), LoadError> {
    if space.len() >= DEFINITIONS {
        return Err(LoadError::TooMany { what, found: space.len() as u64 + 1, limit: DEFINITIONS as u64 });
    }
    space.push(definition);
    Ok(())
}

/// The number of items, if all of them can be read. The number that a section begins with may be wrong.
fn counted<T>(items: impl IntoIterator<Item = wasmparser::Result<T>>) -> wasmparser::Result<u64> {
    items.into_iter().map(|item| item.map(|_| 1)).sum()
}

// === impl Census ===

impl Census {
    /// Counts what an instance of this component takes.
    ///
    /// # Errors
    /// [`LoadError::TooMany`] if it is more than this host allows, [`LoadError::Unknowable`] if it cannot be counted, and
    /// [`LoadError::Compile`] if the binary is damaged.
    pub(super) fn of(component: &[u8]) -> Result<Self, LoadError> {
        let (length, open) = (component.len(), vec![Definition::component()]);
        let mut walk = Walk { length, open, defined: Self::default() };
        for payload in Parser::new(0).parse_all(component) {
            if let Some(census) = walk.read(payload?)? {
                census.check()?;
                return Ok(census);
            }
        }
        Err(cut_off())
    }

    /// The amount that is charged for an instance before it is created.
    pub(super) fn structures(&self) -> Amount {
        Amount { bytes: self.structure_bytes, memories: self.memories }
    }

    /// Adds the bytes of structures of this size.
    fn take(&mut self, count: u64, bytes_each: u64) {
        self.structure_bytes = self.structure_bytes.saturating_add(count.saturating_mul(bytes_each));
    }

    fn add(&mut self, other: &Self) {
        let Self { component_instances, instances, memories, tables, elements, globals, structure_bytes } =
            other;
        for (sum, more) in [
            (&mut self.component_instances, component_instances),
            (&mut self.instances, instances),
            (&mut self.memories, memories),
            (&mut self.tables, tables),
            (&mut self.elements, elements),
            (&mut self.globals, globals),
            (&mut self.structure_bytes, structure_bytes),
        ] {
            *sum = sum.saturating_add(*more);
        }
    }

    /// Adds an instance of this definition. An index without a definition is left to the compiler, which refuses it.
    fn instantiate(&mut self, space: &[Definable], index: u32) -> Result<(), LoadError> {
        match space.get(index as usize) {
            Some(Some(definition)) => self.add(definition),
            Some(None) => return Err(LoadError::Unknowable),
            None => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<(), LoadError> {
        match LIMITS.iter().find(|(count, limit, _)| count(self) > *limit) {
            Some(&(count, limit, what)) => Err(LoadError::TooMany { what, found: count(self), limit }),
            None => Ok(()),
        }
    }
}

fn cut_off() -> LoadError {
    LoadError::Compile("the end of the component is missing".to_owned())
}

impl From<wasmparser::Error> for LoadError {
    fn from(error: wasmparser::Error) -> Self {
        Self::Compile(error.to_string())
    }
}

#[cfg(test)]
mod tests;
