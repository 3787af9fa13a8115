use wat::parse_str;

use super::*;
use crate::{Language, component::length_into};

fn inspect(text: &str) -> Inspection {
    Inspection::of(&parse_str(text).unwrap()).unwrap()
}

/// A custom section `producers` in the text format.
fn producers(field: &str, name: &str, version: &str) -> String {
    let text = |text: &str| format!("\\{:02x}{text}", text.len());
    format!("(@custom \"producers\" \"\\01{}\\01{}{}\")", text(field), text(name), text(version))
}

#[test]
fn a_component_shows_its_outermost_imports_and_exports_and_the_memories_of_its_modules() {
    let inspection = inspect(
        r#"(component
            (import "informer:plugin/log@0.1.0" (instance $log))
            (component (import "inner" (instance)) (core module (memory 1)))
            (core module (memory 2 9) (@custom "name" "12345"))
            (export "informer:plugin/plugin@0.1.0" (instance $log)))"#,
    );

    assert_eq!(inspection.kind, Kind::Component);
    assert_eq!(inspection.imports, ["informer:plugin/log@0.1.0"]);
    assert_eq!(inspection.exports, ["informer:plugin/plugin@0.1.0"]);
    assert_eq!((inspection.modules, inspection.memories, inspection.memory_bytes), (2, 2, 3 << 16));
    assert_eq!(inspection.wit_version(), Some("0.1.0"));
    assert!(inspection.custom_bytes >= 5, "{inspection:?}");
    assert_eq!(inspection.advice(), None);
}

#[test]
fn the_language_of_the_largest_module_counts_unless_the_component_declares_one() {
    let large = format!("(memory 1) (data (i32.const 0) \"{}\")", "x".repeat(500));
    let modules = format!(
        "(core module {large} {}) (core module {})",
        producers("processed-by", "Ubuntu clang", "18.1"),
        producers("language", "Rust", ""),
    );

    let by_module = inspect(&format!("(component {modules})")).toolchain.unwrap();
    let declared = producers("language", "TypeScript", "");
    let by_component = inspect(&format!("(component {modules} {declared})")).toolchain.unwrap();

    assert_eq!((by_module.language, by_module.to_string().as_str()), (Language::C, "C, clang 18.1"));
    assert_eq!((by_component.language, by_component.compiler), (Language::Ts, None));
}

#[test]
fn a_runtime_is_known_by_the_text_that_it_contains() {
    let inspection = inspect("(component (core module (memory 1) (data (i32.const 0) \"... quickjs ...\")))");

    assert_eq!(inspection.toolchain.unwrap().to_string(), "JavaScript, QuickJS");
}

#[test]
fn the_advice_for_a_core_module_is_that_of_its_language() {
    for (producers, advice) in [
        (producers("language", "Go", "go1.26.8"), "`informer build` compiles Go"),
        (producers("processed-by", "rustc", "1.95.0"), "`rustup target add wasm32-wasip2`"),
        (producers("processed-by", "clang", "18"), "`informer new NAME --lang c`"),
        (String::new(), "`wasm-tools component new`"),
    ] {
        let inspection = inspect(&format!("(module {producers})"));

        assert_eq!(inspection.kind, Kind::Module);
        let found = inspection.advice().unwrap();
        assert!(found.contains(advice), "{found}");
    }
}

#[test]
fn a_file_that_is_cut_off_or_no_webassembly_is_refused() {
    let whole = parse_str("(component (core module (memory 2)))").unwrap();
    for bytes in [&whole[..whole.len() - 3], b"#!/bin/sh", b""] {
        assert!(Inspection::of(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn nesting_without_end_is_refused() {
    let depth = 40;
    let text = format!("{}{}", "(component ".repeat(depth), ")".repeat(depth));

    let error = Inspection::of(&parse_str(text).unwrap()).unwrap_err();

    assert!(error.to_string().contains("deeper than 32"), "{error:?}");
}

#[test]
fn a_file_that_is_cut_off_inside_a_module_is_refused() {
    let whole = parse_str("(component (core module (memory 1) (@custom \"a\" \"b\")))").unwrap();

    assert!(Inspection::of(&whole).is_ok());
    for end in 9..whole.len() {
        let refused = Inspection::of(&whole[..end]);
        assert!(matches!(refused, Err(NotWasm::CutOff | NotWasm::Malformed(_))), "{end}: {refused:?}");
    }
}

#[test]
fn a_file_that_is_not_web_assembly_is_refused_with_its_beginning_on_one_line() {
    for (bytes, expected) in [
        (b"# a configuration".as_slice(), "not WebAssembly: the file begins with \"# a configuratio\""),
        (b"a\nb".as_slice(), "not WebAssembly: the file begins with \"a\\nb\""),
        (b"".as_slice(), "not WebAssembly: the file is empty"),
        (b"\0as".as_slice(), "not WebAssembly: the file is cut off"),
    ] {
        assert_eq!(Inspection::of(bytes).unwrap_err().to_string(), expected);
    }
}

#[test]
fn no_cut_and_no_flipped_byte_leads_to_a_panic() {
    let whole = parse_str(format!(
        "(component (import \"a:b/c@0.1.0\" (instance)) (core module (memory 2) {}))",
        producers("language", "Rust", "1.95")
    ))
    .unwrap();
    let mut read = 0;
    for at in 0..whole.len() {
        let _ = Inspection::of(&whole[..at]);
        for flipped in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flipped;
            read += usize::from(Inspection::of(&bytes).is_ok());
        }
    }
    // Names and numbers may be anything.
    assert!(read > 20, "{read}");
}

#[test]
fn more_names_than_any_toolchain_writes_are_refused() {
    let exports = |number: usize| {
        let exports = (0..number).map(|at| format!("(export \"{at}\" (func $f))"));
        parse_str(format!("(module (func $f) {})", exports.collect::<String>())).unwrap()
    };

    assert_eq!(Inspection::of(&exports(NAMES)).unwrap().exports.len(), NAMES);
    let refused = Inspection::of(&exports(NAMES + 1));
    assert!(matches!(refused, Err(NotWasm::TooMany)), "{refused:?}");
}

/// A core module with imports that have no names. All of them are imports from one module, whose name has `module_bytes` bytes.
fn with_imports(module_bytes: usize, imports: usize) -> Vec<u8> {
    let mut contents = vec![1];
    length_into(&mut contents, module_bytes);
    contents.extend(vec![b'm'; module_bytes]);
    // An empty name and this byte begin a group of imports that share a module and a type: function 0.
    contents.extend([0, 0x7e, 0, 0]);
    length_into(&mut contents, imports);
    contents.extend(vec![0; imports]);
    let mut module = b"\0asm\x01\0\0\0\x02".to_vec();
    length_into(&mut module, contents.len());
    module.extend(contents);
    module
}

#[test]
fn a_small_file_whose_imports_share_a_long_name_is_refused() {
    let usual = Inspection::of(&with_imports(3, 2)).unwrap();
    assert_eq!(usual.imports, ["mmm/", "mmm/"]);

    let file = with_imports(100_000, 1_000);

    let refused = Inspection::of(&file);
    assert!(file.len() < 102_000 && matches!(refused, Err(NotWasm::TooLong)), "{:?}", refused.map(|_| ()));
}

#[test]
fn the_first_compiler_that_names_itself_counts_and_no_guess_replaces_it() {
    let likely = producers("processed-by", "clang", "18");
    let guess = inspect(&format!("(module {likely} {})", producers("language", "Rust", "")));
    let certain = inspect(&format!(
        "(component (core module {likely} {} {} {likely}))",
        producers("processed-by", "rustc", "1.95.0"),
        producers("language", "Go", "go1.26.8"),
    ));

    assert_eq!(guess.toolchain.unwrap().to_string(), "Rust");
    assert_eq!(certain.toolchain.unwrap().to_string(), "Rust, rustc 1.95.0");
}
