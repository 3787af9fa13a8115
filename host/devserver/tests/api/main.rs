//! Tests of the server over HTTP.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic of the harness is a failed test"
)]

mod apply;
mod bad_input;
mod client;
mod crud;
mod definitions;
mod deletion;
mod discovery;
mod fixtures;
mod lists;
mod patches;
mod props_consistency;
mod rules;
mod tables;
mod watches;
