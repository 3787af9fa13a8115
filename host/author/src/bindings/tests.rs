use super::*;
use crate::{Engine, Existing, WitVersion, WorldError, write};

fn world(name: &str) -> Result<World, WorldError> {
    world_of(WitVersion::NEWEST, name)
}

fn world_of(version: WitVersion, name: &str) -> Result<World, WorldError> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &version.files(), Existing::Refuse).unwrap();
    World::read(folder.path(), name)
}

/// The text of a generated file.
fn text<'a>(files: &'a Generated, path: &str) -> &'a str {
    let found = files.iter().find(|(found, _)| found == path);
    &found.unwrap_or_else(|| panic!("no {path} among {:?}", files.iter().map(|(path, _)| path))).1
}

#[test]
fn the_header_of_c_has_names_that_do_not_depend_on_the_world() {
    for name in ["event-handler", "controller-with-standard"] {
        let files = c(&mut world(name).unwrap()).unwrap();

        assert!(text(&files, "plugin.h").contains("void exports_informer_plugin_plugin_stop(void);"));
        assert!(text(&files, "plugin.h").contains("plugin_string_t"));
        assert!(text(&files, "plugin.c").contains(&linking_symbol_of(text(&files, "component_type.c"))));
    }
}

/// The name of the function that a text defines.
fn linking_symbol_of(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("void ")).unwrap();
    line.split('(').next().unwrap().to_owned()
}

#[test]
fn the_types_of_typescript_are_those_that_the_engine_passes() {
    let files = typescript(&world("event-handler-with-standard").unwrap(), Engine::QuickJs);

    let text = text(&files, "informer.d.ts");
    for line in [
        "declare module \"informer:plugin/lister@0.2.0\" {",
        "  export type Error = import(\"informer:plugin/types@0.2.0\").Error;",
        "    namespace: string | null;",
        "    index: [string, string] | null;",
        "  export function listMeta(gvr_: string, of_: Selector, part_: Page): MetaPage;",
        "  export type Level = \"trace\" | \"debug\" | \"info\" | \"warn\" | \"error\";",
        "  export type Failure = { tag: \"retry\"; val: string } | { tag: \"retry-after\"; val: [string, number] } | { tag: \"permanent\"; val: string };",
        "  export class Bucket {",
        "    get(key_: string): Uint8Array | null;",
        "    onAdd(object_: EventObject, cause_: Cause): void;",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}

/// Such results are types of `wasi:http`, and 64-bit integers are those of `wasi:clocks`.
#[test]
fn typescript_has_the_types_of_the_engine_for_results_in_values_and_for_large_numbers() {
    let mut world = world("host").unwrap();
    world.import_all_of_the_host();
    let text = |engine| text(&typescript(&world, engine), "informer.d.ts").to_owned();

    for (engine, integer) in [(Engine::QuickJs, "number"), (Engine::StarlingMonkey, "bigint")] {
        let text = text(engine);
        for line in [
            format!("type Integer_64 = {integer};").as_str(),
            "  export type Duration = Integer_64;",
            "    consume(): IncomingBody;",
            "    get(): { tag: \"ok\"; val: { tag: \"ok\"; val: IncomingResponse } | { tag: \"err\"; val: ErrorCode } } | { tag: \"err\" } | null;",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}

#[test]
fn an_unknown_world_is_refused_with_the_names_of_the_worlds() {
    let error = world("handlers").err().unwrap().to_string();

    assert!(
        error.contains("there is no world `handlers`") && error.contains("event-handler-with-client"),
        "{error}"
    );
}

#[test]
fn functions_in_the_sources_are_exported_besides_those_of_the_world() {
    let exported = |version, defined: &str| {
        let mut world = world_of(version, "controller").unwrap();
        world.export_optional(|name| name == defined);
        let mut interfaces = world.exported_interfaces();
        interfaces.sort();
        interfaces
    };

    let newest = WitVersion::NEWEST;
    assert_eq!(exported(newest, "timer-handler"), ["plugin", "reconciler", "timer-handler"]);
    // A world says whether a plugin has handlers.
    assert_eq!(exported(newest, "handler"), ["plugin", "reconciler"]);
    assert_eq!(exported(WitVersion::V0_1, "timer-handler"), ["plugin", "reconciler"]);
}

#[test]
fn a_world_with_an_optional_export_is_written_as_wit() {
    let mut world = world("event-handler").unwrap();
    world.export_optional(|name| name == "sync-handler");
    let text = world.with_imports("mine", &["informer:plugin/objects@0.2.0", "wasi:config/store@0.2.0-rc.1"]);

    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &WitVersion::NEWEST.files(), Existing::Refuse).unwrap();
    std::fs::write(folder.path().join("mine.wit"), text).unwrap();
    let world = World::read(folder.path(), "mine").unwrap();
    assert_eq!(world.exported_functions("sync-handler"), ["on-synced"]);
    assert!(world.imported_interfaces().contains(&"wasi:config/store@0.2.0-rc.1".to_owned()));
}
