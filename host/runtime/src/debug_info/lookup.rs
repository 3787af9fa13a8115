//! Finds the places of frames. It runs under the limits of the process that compiles.

use addr2line::{
    Context,
    gimli::{self, Dwarf, EndianSlice, LittleEndian, SectionId},
};
use wasmparser::{BinaryReader, Name, NameSectionReader};

use super::{
    Frame, Place,
    query::Query,
    sections::{Module, NAMES},
};

/// The bytes behind the head of a loop in which a line is searched for.
const LOOP_HEAD: u64 = 16;

/// The most places of one frame: its function, and functions that became part of it.
const INLINED: usize = 32;

/// Answers a question: a list of places for each frame, innermost first, as JSON. The list is empty if nothing is known about the
/// frame. Damaged information has no places.
///
/// # Errors
/// The bytes are no question.
pub(crate) fn answer(query: &[u8]) -> Result<Vec<u8>, String> {
    let query = Query::decode(query).ok_or("the question about frames cannot be read")?;
    let places: Vec<Vec<Place>> = query.frames.iter().map(|frame| places(&query, frame)).collect();
    serde_json::to_vec(&places).map_err(|error| error.to_string())
}

fn places(query: &Query, frame: &Frame) -> Vec<Place> {
    let Some(module) = query.sections.0.iter().find(|module| module.code.contains(&frame.offset)) else {
        return Vec::new();
    };
    // Addresses of DWARF count from the start of the code.
    let address = (frame.offset - module.code.start) as u64;
    let places = lines(module, address, &query.folder).unwrap_or_default();
    if !places.is_empty() {
        return places;
    }
    function_name(module, frame.function).map(Place::unlocated).into_iter().collect()
}

/// The name of a function by its index.
fn function_name(module: &Module, function: u32) -> Option<&str> {
    // Names that are damaged are left out.
    let names = sections(module, NAMES).flat_map(|bytes| {
        NameSectionReader::new(BinaryReader::new(bytes, 0)).flatten().filter_map(|name| match name {
            Name::Function(functions) => Some(functions),
            _ => None,
        })
    });
    let mut names = names.flatten().flatten();
    names.find(|naming| naming.index == function).map(|naming| naming.name)
}

/// The places of an address, or else of the code closely behind it: compilers give no line to the head of a loop, where a missed
/// deadline is noticed.
fn lines(module: &Module, address: u64, folder: &str) -> Option<Vec<Place>> {
    let section = |id: SectionId| {
        Ok::<_, gimli::Error>(EndianSlice::new(
            sections(module, id.name()).next().unwrap_or_default(),
            LittleEndian,
        ))
    };
    let context = Context::from_dwarf(Dwarf::load(section).ok()?).ok()?;
    let places = at(&context, address, folder)?;
    if places.first().is_none_or(Place::has_line) {
        return Some(places);
    }
    let mut behind = (1..=LOOP_HEAD).filter_map(|step| at(&context, address.checked_add(step)?, folder));
    behind.find(|places| places.first().is_some_and(Place::has_line)).or(Some(places))
}

/// The places of an address. A table that is damaged ends the list.
fn at(context: &Context<EndianSlice<'_, LittleEndian>>, address: u64, folder: &str) -> Option<Vec<Place>> {
    let mut places = Vec::new();
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    while places.len() < INLINED
        && let Ok(Some(frame)) = frames.next()
    {
        let function = frame.function.as_ref().and_then(|name| name.raw_name().ok());
        let line = frame.location.as_ref().and_then(|at| Some((relative(at.file?, folder), at.line?)));
        places.extend(function.map(|function| Place::new(&function, line)));
    }
    Some(places)
}

/// The path of a source, relative to the folder of the project.
fn relative<'a>(path: &'a str, folder: &str) -> &'a str {
    let inside = path.strip_prefix(folder).and_then(|path| path.strip_prefix('/'));
    inside.unwrap_or(path).trim_start_matches("./")
}

fn sections<'a>(module: &'a Module, name: &str) -> impl Iterator<Item = &'a [u8]> {
    module.sections.iter().filter(move |(found, _)| **found == *name).map(|(_, bytes)| &**bytes)
}
