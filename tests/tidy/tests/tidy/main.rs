//! Rules of the repository that no compiler checks. They need nothing but the files, so they run in seconds:
//! `cargo test -p informer-tidy`.
//!
//! | module | what it checks |
//! |---|---|
//! | `crates` | the dependencies that each crate may have; the files that may read the wall clock or contain unsafe code |
//! | `files` | the length of files and functions, one home for each type, names of tests |
//! | `cycles` | the modules of a crate use one another in one direction |
//! | `codes` | codes of rules resolve in `host/docs/rules.md`, and a test shows each rule |
//! | `words` | phrases that the prose of this project avoids |
//! | `documents` | links and file names in documents exist |
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod codes;
mod crates;
mod cycles;
mod documents;
mod files;
mod words;

use std::fmt::Display;

use informer_tidy::tree::{self, SourceFile};

/// Directories of sources, one for each crate.
const CRATES: &[&str] = &[
    "host/types/src",
    "host/system/src",
    "host/cache/src",
    "host/dispatch/src",
    "host/author/src",
    "host/registry/src",
    "host/runtime/src",
    "host/telemetry/src",
    "host/devserver/src",
    "host/src",
    "plugins/event-exporter/src",
    "plugins/janitor/src",
    "plugins/reloader/src",
    "plugins/replicator/src",
    "plugins/sdk/rust/src",
    "tests/bench/src",
    "tests/faults/src",
    "tests/fuzz/src",
    "tests/guests/src",
    "tests/image/src",
    "tests/programs/src",
    "tests/src",
    "tests/tidy/src",
    "tests/xtask/src",
];

/// All Rust files below a directory.
fn rust_files(directory: &str) -> Vec<SourceFile> {
    let found = tree::read(directory, &["rs"]).unwrap();
    assert!(!found.is_empty(), "{directory} has no Rust files");
    found
}

/// Returns false for the sources of tidy, whose tests contain wrong examples on purpose.
fn is_ours(file: &SourceFile) -> bool {
    !file.path.starts_with("tests/tidy/")
}

/// Fails with at most 300 of the problems and their number.
fn none_of(problems: &[impl Display], advice: &str) {
    let shown: Vec<String> = problems.iter().take(300).map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{} problems. {advice}\n{}", problems.len(), shown.join("\n"));
}
