//! The admin endpoint of a running host, its client, and the types that both share.

mod client;
mod origin;
mod probe;
mod server;
pub mod types;

pub(crate) use client::{Answer, Client, RELOAD};
pub use probe::Probe;
pub(crate) use server::CONNECTIONS;
pub use server::{Admin, AdminBindError};
