//! The admin endpoint of a running host, and its client.

mod client;
mod origin;
mod server;

pub(crate) use client::Client;
pub use server::{Admin, AdminBindError, LogLevelRequest, Probe, ReloadRequest};
