use wasmtime::{Engine, Store, component::Linker};

use super::*;
use crate::{engine::Compiler, failure::backtrace};

/// Looks up places in this process.
fn look_up() -> Arc<LookUp> {
    Arc::new(LookUp::new(Arc::new(Compiler::InProcess)))
}

/// A component whose export `f` traps in the function with the index 1. The functions have names if `named`, and then other sections
/// precede the code.
fn component(named: bool) -> Vec<u8> {
    let name = |name: &str| if named { format!("${name}") } else { String::new() };
    let before = if named { "(@custom \"a\" (before func) \"longer than before\")" } else { "" };
    let text = format!(
        r#"(component
            (core module {before} (memory 1) (func unreachable))
            (core module {before}
                (func {} (export "f") call 1)
                (func {} unreachable))
            (core instance $i (instantiate 1))
            (func (export "f") (canon lift (core func $i "f"))))"#,
        name("outer"),
        name("inner"),
    );
    wat::parse_str(text).unwrap()
}

/// The frames of the failed call, innermost first.
fn failed(component: &[u8]) -> Vec<Frame> {
    let engine = Engine::default();
    let component = wasmtime::component::Component::new(&engine, component).unwrap();
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &component).unwrap();
    let function = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
    backtrace(&function.call(&mut store, ()).unwrap_err())
}

#[tokio::test]
async fn the_functions_of_a_component_are_named_by_its_debug_file_whose_sections_are_elsewhere() {
    let (running, debug) = (component(false), component(true));
    let symbols_of = |debug: &[u8]| Symbols::of(&running, debug, String::new(), look_up());
    assert!(symbols_of(&running).is_none(), "it has no names itself");
    let (symbols, frames) = (symbols_of(&debug).unwrap(), failed(&running));

    let places = symbols.places(&frames).await;

    assert_eq!(places, [[Place::unlocated("inner")], [Place::unlocated("outer")]]);
    assert!(symbols.remembered.lock().unknown(&frames, &symbols.sections).is_empty());
    assert_eq!(symbols.places(&frames).await, places, "from memory");
}

/// A look-up that failed is not repeated, because the debug information may be hostile or damaged.
#[tokio::test]
async fn a_component_whose_debug_information_cannot_be_used_is_asked_once() {
    let (running, debug) = (component(false), component(true));
    let program = Compiler::Child { program: "/bin/false".into(), arguments: Vec::new() };
    let look_up = Arc::new(LookUp::new(Arc::new(program)));
    let symbols = Symbols::of(&running, &debug, String::new(), look_up).unwrap();
    let frames = failed(&running);

    assert_eq!(symbols.places(&frames).await, [[], []]);

    assert!(symbols.remembered.lock().unknown(&frames, &symbols.sections).is_empty());
}

#[test]
fn places_are_remembered_up_to_their_bounds() {
    let sections = Sections::of(&component(false), &component(true)).unwrap();
    let frame = |offset| Frame { offset, function: 1, name: None };
    let end = component(false).len();
    let inside: Vec<Frame> = (0..end).map(frame).filter(|frame| sections.describes(frame.offset)).collect();
    assert!(inside.len() > 1 && inside.len() < end);
    let first = &inside[..1];
    let unknown = |remembered: &Remembered| remembered.unknown(&inside, &sections).len();

    let mut remembered = Remembered::default();
    assert_eq!(
        remembered.unknown(&(0..end).map(frame).collect::<Vec<_>>(), &sections),
        inside,
        "the code alone"
    );
    remembered.remember(vec![first[0].offset], Ok(None), Duration::ZERO);
    assert_eq!(unknown(&remembered), inside.len(), "its turn did not come");
    remembered.remember(vec![first[0].offset], Ok(Some(vec![Vec::new()])), Duration::ZERO);
    assert_eq!(unknown(&remembered), inside.len() - 1);
    for full in [
        Remembered { spent: ALL_LOOK_UPS, ..Remembered::default() },
        Remembered { bytes: REMEMBERED_BYTES, ..Remembered::default() },
        Remembered { failed: true, ..Remembered::default() },
        Remembered {
            places: (end..end + REMEMBERED).map(|at| (at, Vec::new())).collect(),
            ..Remembered::default()
        },
    ] {
        assert_eq!(unknown(&full), 0);
    }
}

#[test]
fn a_debug_file_of_another_component_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hello.wasm");
    let running = component(false);
    let write = |digest: &str| {
        let mut debug = component(true);
        let of =
            serde_json::to_vec(&DebugOf { component: digest.to_owned(), folder: String::new() }).unwrap();
        let section = [&[14_u8][..], DebugOf::SECTION.as_bytes(), &of].concat();
        debug.extend([0, u8::try_from(section.len()).unwrap()]);
        debug.extend(section);
        std::fs::write(DebugOf::file(&path), debug).unwrap();
    };

    write("mine");
    let (in_use, look_up) = (InUse::default(), look_up());
    let read = |digest, limit| Symbols::of_file((&in_use, &look_up), &path, &running, digest, limit);
    let symbols = read("mine", 1 << 20).unwrap();
    assert!(Arc::ptr_eq(&symbols, &read("mine", 1 << 20).unwrap()), "they are held once");
    assert!(read("other", 1 << 20).is_none());
    assert!(read("mine", 10).is_none(), "the file is larger than the limit");
}
