use std::{env, fs, path::Path};

use super::*;
use crate::{Existing, TextFile, WitVersion, write};

/// The interfaces that a plugin may export.
const EXPORTS: [&str; 7] =
    ["plugin", "handler", "batch-handler", "reconciler", "sync-handler", "timer-handler", "config-handler"];

/// The generated packages of the SDK: those of all interfaces, and one for each interface that a plugin may export.
fn of_the_sdk() -> Generated {
    let folder = format!("{SDK}/bindings");
    let mut files = packages(&mut host(), &folder).unwrap();
    files.retain(|(path, _)| !path.starts_with("wit_exports/"));
    for export in EXPORTS {
        let mut world = host();
        retain(&mut world, |_| true, |name| name == format!("informer:plugin/{export}@0.2.0"));
        let exports = packages(&mut world, &folder).unwrap();
        let (_, text) = exports.into_iter().find(|(path, _)| path == "wit_exports/wit_exports.go").unwrap();
        let package = format!("exports_{}", export.replace('-', "_"));
        let text = text.replace("package wit_exports", &format!("package {package}"));
        files.push((format!("{package}/exports.go"), text));
    }
    for (path, text) in &mut files {
        if path.ends_with(".go") {
            // On the machine of the author there is no host to import functions from.
            *text = text.replacen("\npackage ", "\n//go:build wasip1\n\npackage ", 1);
        }
    }
    files
}

fn host() -> World {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &WitVersion::NEWEST.files(), Existing::Refuse).unwrap();
    let mut host = World::read(folder.path(), "host").unwrap();
    host.import_all_of_the_host();
    host
}

/// The lines without what gofmt changes: white space, semicolons at the end, empty lines of comments, an empty import, and the order of
/// imports.
fn unformatted(text: &str) -> Vec<String> {
    let squeezed = text.lines().map(|line| line.split_whitespace().collect::<String>());
    let lines: Vec<String> = squeezed
        .map(|line| line.trim_end_matches(';').to_owned())
        .filter(|line| !["", "//"].contains(&line.as_str()))
        .collect();
    let text = lines.join("\n").replace("import(\n)", "import()");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// `INFORMER_WRITE=1 cargo test -p informer-author the_bindings_of_the_sdk && gofmt -w plugins/sdk/go/bindings` writes them anew.
#[test]
fn the_bindings_of_the_sdk_are_those_of_the_wit_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/sdk/go/bindings");
    let files = of_the_sdk();
    if env::var_os("INFORMER_WRITE").is_some() {
        let files: Vec<TextFile<'_>> = files.iter().map(|(path, text)| TextFile { path, text }).collect();
        write(&folder, &files, Existing::Replace).unwrap();
        return;
    }
    for (path, text) in files {
        let found = fs::read_to_string(folder.join(&path)).unwrap_or_default();
        assert_eq!(unformatted(&found), unformatted(&text), "plugins/sdk/go/bindings/{path}");
    }
}

#[test]
fn a_world_without_more_than_the_sdk_has_no_bindings_of_its_own() {
    assert_eq!(go(&mut host(), "hello").unwrap(), Generated::new());
}

#[test]
fn an_interface_of_the_author_gets_bindings_on_top_of_the_sdk() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &WitVersion::NEWEST.files(), Existing::Refuse).unwrap();
    let mine = "package mine:net@1.0.0;\n\ninterface dns { resolve: func(name: string) -> result<string, string>; }\n";
    let deps = folder.path().join("deps/net");
    fs::create_dir_all(&deps).unwrap();
    fs::write(deps.join("dns.wit"), mine).unwrap();
    let with_dns = "package informer:plugin@0.2.0;\n\nworld with-dns { include event-handler; import mine:net/dns@1.0.0; }\n";
    fs::write(folder.path().join("with-dns.wit"), with_dns).unwrap();

    let files = go(&mut World::read(folder.path(), "with-dns").unwrap(), "hello").unwrap();

    let paths: Vec<&str> =
        files.iter().map(|(path, _)| path.as_str()).filter(|path| path.ends_with(".go")).collect();
    assert_eq!(paths, ["mine_net_dns/wit_bindings.go"]);
    let (_, text) = files.iter().find(|(path, _)| path == "mine_net_dns/wit_bindings.go").unwrap();
    assert!(
        text.contains(&format!("\"{SDK}/bindings/wit/runtime\"")) && text.contains("func Resolve("),
        "{text}"
    );
}
