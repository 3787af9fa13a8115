//! The informer over real connections to a faulty server. Each test checks the requests that follow a fault, and that
//! the cache and the listeners end in the state of the server's collection.
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
#[path = "../../../../host/cache/tests/informer/notification.rs"]
mod notification;
mod refusals;
mod scripts;
mod silence;
mod streaming;
mod transport;
mod world;
