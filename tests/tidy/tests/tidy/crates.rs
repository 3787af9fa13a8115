//! The dependencies that each crate may have; the files that may read the wall clock or contain unsafe code.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use informer_tidy::{rust::Rust, tree::root};

use crate::{none_of, rust_files};

/// The names under `[dependencies]` of a crate; development dependencies do not count.
fn dependencies(directory: &str) -> BTreeSet<String> {
    let path = root().join(directory).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_stages_meet_only_in_types() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("host/types", [].as_slice()),
        ("host/system", &[]),
        ("host/cache", &["informer-types"]),
        ("host/dispatch", &["informer-types"]),
        ("host/author", &["informer-types"]),
        ("host/registry", &["informer-types", "informer-system"]),
        ("host/runtime", &["informer-types", "informer-system"]),
        ("host/telemetry", &["informer-types"]),
        ("host/devserver", &["informer-system"]),
    ]);
    for (directory, allowed) in allowed {
        let ours: Vec<String> =
            dependencies(directory).into_iter().filter(|name| name.starts_with("informer")).collect();

        assert!(
            ours.iter().all(|name| allowed.contains(&name.as_str())),
            "{directory} depends on {ours:?}; allowed is {allowed:?}"
        );
    }
}

#[test]
fn each_outside_world_has_one_door() {
    let doors: [(&str, &[&str]); 12] = [
        ("kube", &["host/cache", "host"]),
        ("k8s-openapi", &["host/cache", "host"]),
        ("wasmtime", &["host/runtime"]),
        ("toml", &["host"]),
        ("clap", &["host"]),
        ("oci-client", &["host/registry"]),
        ("reqwest", &["host/registry", "host/telemetry"]),
        ("opentelemetry", &["host/telemetry"]),
        ("opentelemetry_sdk", &["host/telemetry"]),
        ("opentelemetry-otlp", &["host/telemetry"]),
        ("tonic", &["host/telemetry"]),
        ("sigstore-verify", &["host/registry"]),
    ];
    let crates = [
        "host",
        "host/types",
        "host/system",
        "host/cache",
        "host/dispatch",
        "host/author",
        "host/registry",
        "host/runtime",
        "host/telemetry",
        "host/devserver",
    ];
    let of_authors = ["wit-parser", "wit-component", "wit-bindgen-c", "wit-bindgen-go"];
    let of_authors = of_authors.map(|library| (library, ["host/author"].as_slice()));
    for (library, doors) in doors.into_iter().chain(of_authors) {
        for directory in crates.iter().filter(|directory| !doors.contains(directory)) {
            assert!(!dependencies(directory).contains(library), "{directory} must not depend on {library}");
        }
    }
}

#[test]
fn the_api_server_and_the_cache_share_no_code() {
    for file in rust_files("host/devserver/src") {
        let ours = file.text.contains("informer_cache") || file.text.contains("informer_types");
        assert!(!ours, "{} uses a crate of the host", file.path);
    }
}

/// Waits use a clock that never jumps; see "Clocks" in `host/docs/clocks.md`.
#[test]
fn only_what_is_shown_or_kept_and_times_of_cron_read_the_wall_clock() {
    let readers = [
        "host/devserver/src/object.rs",
        "host/devserver/src/table.rs",
        "host/dispatch/src/dead_letter.rs",
        "host/runtime/src/capabilities/client/events.rs",
        "host/src/app/in_force.rs",
        "host/src/app/tenants/recorder.rs",
        "host/src/app/tenants/writer.rs",
        "host/src/app/trace.rs",
        "host/src/election/elector.rs",
        "host/src/logging/recent_lines.rs",
        "host/telemetry/src/event.rs",
        "host/src/connect/credential_command/answer.rs",
        "host/src/wiring/timers.rs",
    ];
    let looks = ["SystemTime::now", "Timestamp::now", "Zoned::now", "UNIX_EPOCH.elapsed", "Utc::now"];
    let sources = rust_files("host").into_iter().filter(|file| !file.is_test());
    let found: BTreeSet<String> = sources
        .filter(|file| looks.iter().any(|look| file.text.contains(look)))
        .map(|file| file.path)
        .collect();
    assert_eq!(found, readers.map(str::to_owned).into());
}

#[test]
fn unsafe_code_is_in_one_file() {
    let mut problems = Vec::new();
    for file in rust_files("").iter().filter(|file| file.path != "host/runtime/src/engine/compile_cache.rs") {
        let rust = Rust::parse(&file.text);
        let marked = rust.tokens().windows(2).any(|pair| {
            pair.first().is_some_and(|token| token.text == "unsafe")
                && pair.last().is_some_and(|token| ["{", "fn", "impl", "extern"].contains(&token.text))
        });
        problems.extend(marked.then(|| file.path.clone()));
    }
    none_of(&problems, "Unsafe code belongs into compile_cache.rs.");
}
