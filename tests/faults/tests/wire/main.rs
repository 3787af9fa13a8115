//! The informer, over real connections to a server that fails. What it asks for next is what the rules say, and
//! in the end its cache is the server's collection and its listeners know.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests too"
)]

mod events;
mod framing;
mod history;
mod http2;
mod lists;
mod refusals;
mod scripts;
mod silence;
mod streaming;
mod transport;
mod world;
