//! Tests of the server itself, with the HTTP client of the informer.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too"
)]

mod answers;
mod caller;
mod cuts;
