use wasmtime::{Engine, Store, WasmBacktrace, component::Linker};

use super::*;

/// A component whose export `f` traps in the function with the index 1. The functions have names if `named`, and then other sections
/// precede the code.
fn component(named: bool) -> Vec<u8> {
    let name = |name: &str| if named { format!("${name}") } else { String::new() };
    let before = if named { "(@custom \"a\" (before func) \"longer than before\")" } else { "" };
    let text = format!(
        r#"(component
            (core module {before} (memory 1) (func unreachable))
            (core module $m {before}
                (func {} (export "f") call 1)
                (func {} unreachable))
            (core instance $i (instantiate $m))
            (func (export "f") (canon lift (core func $i "f"))))"#,
        name("outer"),
        name("inner"),
    );
    wat::parse_str(text).unwrap()
}

/// The places of the frames of the failed call, innermost first.
fn failure(component: &[u8], symbols: &Symbols) -> Vec<Vec<Place>> {
    let engine = Engine::default();
    let component = wasmtime::component::Component::new(&engine, component).unwrap();
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &component).unwrap();
    let function = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
    let error = function.call(&mut store, ()).unwrap_err();
    let backtrace = error.downcast_ref::<WasmBacktrace>().unwrap();
    backtrace.frames().iter().map(|frame| symbols.places(frame)).collect()
}

fn place(file: &str) -> Place {
    Place { function: "f".to_owned(), line: Some((file.to_owned(), 7)) }
}

#[test]
fn the_functions_of_a_component_are_named_by_its_debug_file_whose_sections_are_elsewhere() {
    let (running, debug) = (component(false), component(true));
    assert!(Symbols::of(&running, &running, String::new()).is_none(), "it has no names itself");
    let symbols = Symbols::of(&running, &debug, String::new()).unwrap();

    let failed = failure(&running, &symbols);

    assert_eq!(failed, [[Place::unlocated("inner")], [Place::unlocated("outer")]]);
    assert_eq!(failure(&running, &symbols), failed, "from memory");
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
    let in_use = InUse::default();
    let read = |digest, limit| Symbols::of_file(&in_use, &path, &running, digest, limit);
    let symbols = read("mine", 1 << 20).unwrap();
    assert!(Arc::ptr_eq(&symbols, &read("mine", 1 << 20).unwrap()), "they are held once");
    assert!(read("other", 1 << 20).is_none());
    assert!(read("mine", 10).is_none(), "the file is larger than the limit");
}

#[test]
fn a_path_shows_whether_the_author_wrote_the_code() {
    for file in ["src/lib.rs", "/home/ann/hello/src/lib.rs", "main.c", "lib/util.rs"] {
        assert!(place(file).is_of_the_author(), "{file}");
    }
    for file in [
        "/rustc/0123/library/core/src/panicking.rs",
        "/home/ann/.cargo/registry/src/index.crates.io-1/serde-1.0/src/lib.rs",
        "/home/ann/.cargo/git/checkouts/informer-1/2/plugins/sdk/rust/src/lib.rs",
        "/work/informer/plugins/sdk/rust/src/lib.rs",
        "sdk/calls.c",
        "bindings/plugin.c",
        "/home/ann/.cache/informer/zig/01/ziglang/lib/libc/wasi/x.c",
    ] {
        assert!(!place(file).is_of_the_author(), "{file}");
    }
    assert!(!Place::unlocated("f").is_of_the_author());
}

#[test]
fn no_cut_and_no_flipped_byte_of_a_debug_file_leads_to_a_panic() {
    let (running, debug) = (component(false), component(true));
    let mut read = 0;
    for at in 0..debug.len() {
        for flipped in [0x01, 0x80, 0xff] {
            let mut bytes = debug.clone();
            bytes[at] ^= flipped;
            for bytes in [&bytes[..], &bytes[..at]] {
                let Some(symbols) = Symbols::of(&running, bytes, String::new()) else { continue };
                read += 1;
                for offset in 0..running.len() {
                    symbols.look_up(offset, 1);
                }
            }
        }
    }
    assert!(read > 20, "{read}");
}
