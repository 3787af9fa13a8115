//! The length of files and functions, one home for each type, names of tests.

use std::collections::{BTreeMap, BTreeSet};

use informer_tidy::{
    items::{functions, inherent_impls},
    modules::{Modules, Path},
    rules,
    rust::Rust,
    tree::SourceFile,
};

use crate::{CRATES, none_of, rust_files};

const LINES_AT_MOST: usize = 600;
const MEDIAN_AT_MOST: usize = 150;
const FUNCTION_AT_MOST: usize = 60;

/// An `impl` of one type is in at most this many files; implementations of traits do not count.
const HOMES_AT_MOST: usize = 2;

/// Types that every crate takes from `informer-types`. A type whose name ends like one of them builds on it.
const SHARED: [&str; 3] = ["TokenBucket", "Backoff", "Histogram"];

#[test]
fn files_are_short() {
    let mut lengths = Vec::new();
    let mut problems = Vec::new();
    for file in rust_files("") {
        let lines = file.text.lines().count();
        if lines > LINES_AT_MOST {
            problems.push(format!("{} has {lines} lines", file.path));
        }
        lengths.push(lines);
    }
    none_of(&problems, "Split these files.");
    assert!(lengths.len() > 50, "the walk found only {} files", lengths.len());
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    assert!(median <= MEDIAN_AT_MOST, "the median file has {median} lines");
}

#[test]
fn functions_are_short() {
    let mut problems = Vec::new();
    for file in rust_files("") {
        for function in functions(&Rust::parse(&file.text)) {
            if function.lines > FUNCTION_AT_MOST {
                problems.push(format!(
                    "{}:{}: {} has {} lines",
                    file.path, function.line, function.name, function.lines
                ));
            }
        }
    }
    none_of(&problems, "Split these functions.");
}

#[test]
fn modules_are_named_by_their_file() {
    let found: Vec<_> =
        rust_files("").into_iter().map(|file| file.path).filter(|path| path.ends_with("/mod.rs")).collect();
    none_of(&found, "Write foo.rs beside foo/.");
}

#[test]
fn the_methods_of_a_type_are_in_at_most_two_files() {
    let mut problems = Vec::new();
    for directory in CRATES {
        let files = rust_files(directory);
        let modules = Modules::new(directory, &files);
        for ((home, name), places) in implementations(directory, &files, &modules) {
            if places.len() > HOMES_AT_MOST {
                problems.push(format!("{directory}: {} of {} in {places:?}", name, home.join("::")));
            }
        }
    }
    none_of(&problems, "Give the type fewer tasks: parts that own their fields.");
}

/// The files with inherent methods of each type, by the module that defines the type and its name.
fn implementations(
    directory: &str,
    files: &[SourceFile],
    modules: &Modules,
) -> BTreeMap<(Path, String), BTreeSet<String>> {
    let mut found: BTreeMap<(Path, String), BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        let relative =
            file.path.strip_prefix(directory).unwrap().trim_start_matches('/').trim_end_matches(".rs");
        let module: Path = relative.split('/').filter(|part| *part != "lib").map(str::to_owned).collect();
        let rust = Rust::parse(&file.text);
        for path in inherent_impls(&rust.tokens_without_tests()) {
            let home = modules.home(&module, &path).unwrap_or_else(|| module.clone());
            let name = path.last().cloned().unwrap_or_default();
            found.entry((home, name)).or_default().insert(file.path.clone());
        }
    }
    found
}

#[test]
fn token_buckets_backoffs_and_histograms_are_those_of_types() {
    let mut problems = Vec::new();
    for directory in
        CRATES.iter().filter(|directory| directory.starts_with("host/") && **directory != "host/types/src")
    {
        for file in rust_files(directory).iter().filter(|file| !file.is_test()) {
            let rust = Rust::parse(&file.text);
            let tokens = rust.tokens_without_tests();
            for pair in tokens.windows(2) {
                if let [keyword, name] = pair
                    && ["struct", "enum"].contains(&keyword.text)
                    && let Some(shared) = SHARED.iter().find(|shared| name.text.ends_with(*shared))
                    && (name.text == *shared || !tokens.iter().any(|token| token.text == *shared))
                {
                    problems.push(format!("{}:{}: {}", file.path, name.line, name.text));
                }
            }
        }
    }
    none_of(&problems, "Use the type of informer-types.");
}

#[test]
fn names_of_tests_have_no_codes() {
    let mut problems = Vec::new();
    for file in rust_files("") {
        for function in functions(&Rust::parse(&file.text)) {
            if function.is_test && rules::in_name(function.name) {
                problems.push(format!("{}:{}: {}", file.path, function.line, function.name));
            }
        }
    }
    none_of(&problems, "Put the code into the doc comment of the test, behind a sentence.");
}
