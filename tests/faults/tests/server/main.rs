//! What the server itself promises, seen by the HTTP client that the informer has.
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
