//! Real components in the sandbox: what a plugin may rely on, and what it cannot do to others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the functions around the tests are tests too"
)]

mod api;
mod batches;
mod client;
mod compile_cache;
mod host;
mod hostile;
mod http;
mod instances;
mod isolation;
mod limits;
mod lister;
mod load;
mod log_lines;
mod metrics;
mod objects;
mod reconciler;
mod reload;
mod revocation;
mod secrets;
mod settings;
mod signals;
