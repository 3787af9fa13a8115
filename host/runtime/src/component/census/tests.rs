use super::*;

fn census(wat: &str) -> Result<Census, LoadError> {
    Census::of(&wat::parse_str(wat).unwrap())
}

/// The reason why this component is refused, with the number and the limit.
fn refused(wat: &str) -> (&'static str, u64, u64) {
    match census(wat).unwrap_err() {
        LoadError::TooMany { what, found, limit } => (what, found, limit),
        other => panic!("{other}"),
    }
}

/// Core modules that are defined, each of which is instantiated once.
fn modules(modules: &str, times: usize) -> String {
    let instances: String =
        (0..times).map(|module| format!("(core instance (instantiate {module}))")).collect();
    format!("(component {} {instances})", modules.repeat(times))
}

#[test]
fn everything_that_one_instance_has_is_counted() {
    let module = r#"(core module
        (import "a" "f" (func)) (import "a" "g" (global i32))
        (func $own) (func (export "x"))
        (table 10 funcref) (table 20 30 funcref)
        (memory 1) (global i32 (i32.const 1)) (global funcref (ref.func $own))
        (elem func $own $own $own) (elem (table 0) (i32.const 0) func $own) (data "seven"))"#;

    let census = census(&format!(
        r#"(component {module}
            (core module $a (func (export "f")) (global (export "g") i32 (i32.const 0)))
            (core instance $of_a (instantiate $a))
            (core instance (instantiate 0 (with "a" (instance $of_a))))
            (core instance (instantiate 0 (with "a" (instance $of_a)))))"#
    ))
    .unwrap();

    let twice = 2 * (INSTANCE + 2 * IMPORT + 2 * TABLE + MEMORY + 2 * GLOBAL + DATA_SEGMENT);
    // It has more references than functions, so each function has one.
    let functions = 2 * (4 * FUNCTION_REFERENCE + PASSIVE_SEGMENT + 3 * PASSIVE_ELEMENT);
    let once = INSTANCE + GLOBAL + FUNCTION_REFERENCE + COMPONENT_INSTANCE;
    let expected = Census {
        component_instances: 1,
        instances: 3,
        memories: 2,
        tables: 4,
        elements: 60,
        globals: 5,
        structure_bytes: twice + functions + once,
    };
    assert_eq!(census, expected);
}

#[test]
fn instances_of_nested_components_count_as_often_as_the_components_are_instantiated() {
    let census = census(
        r"(component
            (core module $m (memory 1))
            (component $inner
                (alias outer 1 $m (core module $m))
                (core instance (instantiate $m))
                (core instance (instantiate $m)))
            (component $middle
                (alias outer 1 $inner (component $inner))
                (instance (instantiate $inner))
                (instance (instantiate $inner))
                (instance (instantiate $inner)))
            (instance (instantiate $middle)))",
    )
    .unwrap();

    assert_eq!((census.component_instances, census.instances, census.memories), (5, 6, 6));
}

/// A hundred components, each of which instantiates the previous one ten times.
#[test]
fn exponential_nesting_is_refused() {
    let mut components = r"(component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
    for level in 1..100 {
        let before = level - 1;
        let instances = format!("(instance (instantiate $c{before}))").repeat(10);
        components.push_str(&format!(
            "(component $c{level} (alias outer 1 $c{before} (component $c{before})) {instances})"
        ));
    }

    let refused = refused(&format!("(component {components} (instance (instantiate $c99)))"));

    assert_eq!(refused, ("component instances", u64::MAX, 256));
}

#[test]
fn more_than_the_limit_of_each_is_refused_with_the_number_and_the_limit() {
    assert_eq!(refused(&modules("(core module)", 257)), ("core instances", 257, 256));
    assert_eq!(refused(&modules("(core module (memory 1))", 17)), ("memories", 17, 16));
    let tables = "(table 0 funcref)".repeat(43);
    assert_eq!(refused(&modules(&format!("(core module {tables})"), 3)), ("tables", 129, 128));
    let large = "(core module (table 500001 funcref))";
    assert_eq!(refused(&modules(large, 2)), ("table elements", 1_000_002, 1_000_000));
    let globals = "(global i32 (i32.const 0))".repeat(5_001);
    assert_eq!(refused(&modules(&format!("(core module {globals})"), 2)), ("globals", 10_002, 10_000));
    let empty = format!("(component (component) {})", "(instance (instantiate 0))".repeat(256));
    assert_eq!(refused(&empty), ("component instances", 257, 256));
    let many = format!("(component {})", "(component)".repeat(1_001));
    assert_eq!(refused(&many), ("components", 1_001, 1_000));
    let deep = format!("{}{}", "(component ".repeat(33), ")".repeat(33));
    assert_eq!(refused(&deep), ("components inside one another", 33, 32));
}

/// wasmtime prepares the tables of a module when it compiles it.
#[test]
fn modules_that_are_never_instantiated_count_once() {
    let module = "(core module (table 1000000 funcref))";

    assert!(census(&format!("(component {module})")).is_ok());
    let expected = ("table elements", 2_000_000, 1_000_000);
    assert_eq!(refused(&format!("(component {module} {module})")), expected);
    assert_eq!(refused(&format!("(component (component {module}) (component {module}))")), expected);
}

#[test]
fn tables_with_64_bits_do_not_overflow_the_count() {
    let huge = "(core module (table i64 18446744073709551615 funcref))";

    assert_eq!(refused(&modules(huge, 2)), ("table elements", u64::MAX, 1_000_000));
}

#[test]
fn definitions_from_an_argument_or_an_instance_cannot_be_counted() {
    for component in [
        r#"(component (import "m" (core module $m)) (core instance (instantiate $m)))"#,
        r#"(component (import "c" (component $c)) (instance (instantiate $c)))"#,
        r#"(component
            (component $has (core module $m) (export "m" (core module $m)))
            (instance $of (instantiate $has))
            (alias export $of "m" (core module $m))
            (core instance (instantiate $m)))"#,
    ] {
        let refused = census(component).unwrap_err();

        assert!(matches!(refused, LoadError::Unknowable), "{refused}");
    }
}

/// An export adds to the index space, so later indices agree with the compiler.
#[test]
fn an_exported_module_is_counted_by_its_new_index() {
    let component = r#"(component
        (core module $none) (core module $one (memory 1))
        (export "e" (core module $one))
        (core instance (instantiate 2)))"#;

    assert_eq!(census(component).unwrap().memories, 1);
}

#[test]
fn a_component_that_is_cut_off_is_damaged() {
    let whole = wat::parse_str("(component (core module (memory 1)))").unwrap();

    // The header alone is a component.
    assert_eq!(Census::of(&whole[..8]).unwrap().instances, 0);
    for end in 9..whole.len() {
        let refused = Census::of(&whole[..end]);
        assert!(matches!(refused, Err(LoadError::Compile(_))), "{end}: {refused:?}");
    }
}

#[test]
fn a_section_without_the_items_that_it_announces_is_damaged() {
    let two_million = [0xff, 0xff, 0x7f];
    let section = |id: u8, content: &[u8]| [&[id, u8::try_from(content.len()).unwrap()], content].concat();
    let component = |section: &[u8]| [b"\0asm\x0d\0\x01\0", section].concat();
    let damaged = |component: &[u8]| {
        let refused = Census::of(component);
        assert!(matches!(refused, Err(LoadError::Compile(_))), "{component:x?}: {refused:?}");
    };

    let canonical_functions = 8;
    damaged(&component(&section(canonical_functions, &two_million)));
    let (functions, memories, globals, exports, data, tags) = (3, 5, 6, 7, 11, 13);
    for id in [functions, memories, globals, exports, data, tags] {
        let module = [b"\0asm\x01\0\0\0".as_slice(), &section(id, &two_million)].concat();
        damaged(&component(&section(1, &module)));
    }
}
