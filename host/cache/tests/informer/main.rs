//! Scenarios of the informer against a scripted API server.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "the helpers of tests are tests too"
)]

mod budget;
mod compression;
mod discovery;
mod endless;
mod errors;
mod handover;
mod health;
mod lifecycle;
mod listeners;
mod lister;
mod lists;
mod notification;
mod other_versions;
mod pager;
mod parts;
mod presence;
mod quarantine;
mod recordings;
mod relists;
mod reopenings;
mod restarts;
mod resync;
mod streaming;
mod subscriptions;
mod transport;
mod versions;
mod watches;
mod world;

#[path = "../server/server.rs"]
mod server;
