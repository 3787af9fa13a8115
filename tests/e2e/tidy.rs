//! Rules that a compiler cannot check: who may depend on whom, and how long a file may be.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const LINES_AT_MOST: usize = 600;
const MEDIAN_AT_MOST: usize = 200;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

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

fn files(directory: &Path, wanted: &dyn Fn(&Path) -> bool, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                files(&path, wanted, into);
            }
        } else if wanted(&path) {
            into.push(path);
        }
    }
}

fn rust_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), &|path| path.extension().is_some_and(|extension| extension == "rs"), &mut found);
    assert!(found.len() > 50, "the walk found only {} files", found.len());
    found
}

#[test]
fn the_stages_meet_only_in_types() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("host/types", [].as_slice()),
        ("host/cache", &["informer-types"]),
        ("host/dispatch", &["informer-types"]),
        ("host/runtime", &["informer-types"]),
        ("host/devserver", &[]),
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
    let doors: [(&str, &[&str]); 4] = [
        ("kube", &["host/cache", "host"]),
        ("k8s-openapi", &["host/cache", "host"]),
        ("wasmtime", &["host/runtime"]),
        ("toml", &["host"]),
    ];
    let crates = ["host", "host/types", "host/cache", "host/dispatch", "host/runtime", "host/devserver"];
    for (library, doors) in doors {
        for directory in crates.iter().filter(|directory| !doors.contains(directory)) {
            assert!(!dependencies(directory).contains(library), "{directory} must not depend on {library}");
        }
    }
}

#[test]
fn the_api_server_and_the_cache_share_no_code() {
    let mut sources = Vec::new();
    files(&root().join("host/devserver/src"), &|_| true, &mut sources);

    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("informer_cache") && !text.contains("informer_types"), "{}", path.display());
    }
}

#[test]
fn no_file_is_one_a_stranger_would_rather_not_open() {
    let mut lengths = Vec::new();
    for path in rust_files() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= LINES_AT_MOST, "{} has {lines} lines; split it", path.display());
        lengths.push(lines);
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= MEDIAN_AT_MOST, "the median file has {median} lines");
}

#[test]
fn modules_are_named_by_their_file() {
    for path in rust_files() {
        assert_ne!(path.file_name().unwrap(), "mod.rs", "{}: write foo.rs beside foo/", path.display());
    }
}

/// What waits asks a clock that does not jump; see "Clocks" in ARCHITECTURE.md.
#[test]
fn the_wall_clock_is_read_for_what_is_shown_or_kept_and_nowhere_else() {
    let readers = [
        "devserver/src/rest.rs",
        "devserver/src/table/age.rs",
        "dispatch/src/dead_letter.rs",
        "dispatch/src/workqueue/dropped.rs",
        "runtime/src/capabilities/client/events.rs",
        "src/trace.rs",
    ];
    let looks = ["SystemTime::now", "Timestamp::now", "Zoned::now", "UNIX_EPOCH.elapsed", "Utc::now"];
    let host = root().join("host");
    let mut sources = Vec::new();
    files(&host, &|path| path.extension().is_some_and(|extension| extension == "rs"), &mut sources);
    let mut found = BTreeSet::new();
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(&host).unwrap().to_owned();
        let is_test = path
            .components()
            .any(|part| ["tests", "tests.rs"].map(AsRef::as_ref).contains(&part.as_os_str()));
        if !is_test && looks.iter().any(|look| text.contains(look)) {
            found.insert(path);
        }
    }
    assert_eq!(found, readers.map(PathBuf::from).into());
}

#[test]
fn unsafe_code_stands_in_one_file_only() {
    for path in rust_files() {
        let allowed =
            path.ends_with("runtime/src/component/compile_cache.rs") || path.ends_with("e2e/tidy.rs");
        let text = fs::read_to_string(&path).unwrap();
        let found = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or_default();
            code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl")
        });
        assert!(allowed || !found, "{} has unsafe code", path.display());
    }
}
