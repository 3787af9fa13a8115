//! Fuzz targets: functions that take any bytes, use them as the host uses bytes from outside, and panic if a promise is broken.
//!
//! A target compares with an oracle: another parser, or a model that is too simple to be wrong. `corpus/<target>` has inputs that
//! reach most of the code, and `regressions/<target>` has each input that found a bug. `tests/replay.rs` runs them all on
//! stable Rust without libFuzzer; `cargo xtask fuzz` searches for more with libFuzzer.
//!
//! An input with several parts is text, and a blank line ends each part, so that people and dictionaries can write inputs.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "targets are tests"
)]

mod admin;
mod calls;
mod components;
mod config;
mod decoder;
mod frames;
mod grants;
mod http_targets;
mod json;
mod objects;
mod parts;
mod selectors;
mod when;

/// One entry for bytes from outside.
pub struct Target {
    /// The name of the target: of its folder in `corpus`, and on the command line.
    pub name: &'static str,
    /// The longest input that is useful, in bytes.
    pub longest: usize,
    /// Uses the bytes. Panics if a promise is broken.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target { name: "frames", longest: 512, run: frames::run },
    Target { name: "decoder", longest: 4096, run: decoder::run },
    Target { name: "json", longest: 1024, run: json::run },
    Target { name: "selectors", longest: 512, run: selectors::run },
    Target { name: "when", longest: 1024, run: when::run },
    Target { name: "grants", longest: 512, run: grants::run },
    Target { name: "http-targets", longest: 512, run: http_targets::run },
    Target { name: "config", longest: 2048, run: config::run },
    Target { name: "calls", longest: 2048, run: calls::run },
    Target { name: "components", longest: 4096, run: components::run },
    Target { name: "objects", longest: 2048, run: objects::run },
    Target { name: "admin", longest: 2048, run: admin::run },
];
