//! The endpoints of a running host: the admin endpoint for this machine with its client and the types that both share, and the
//! health endpoint for other machines.

mod access;
mod client;
pub mod dashboard;
mod endpoint;
mod health;
mod identity;
mod origin;
mod page;
mod probe;
mod server;
mod token;
pub mod types;

pub use access::{Reviewer, Unreviewed, Verdict};
pub(crate) use client::{Answer, Client, RELOAD};
pub use dashboard::Dashboard;
pub(crate) use endpoint::CONNECTIONS;
pub use endpoint::{BindError, Endpoint};
pub use health::serve_health;
pub use probe::{Check, Outcome, Probe};
pub use server::{IfTaken, serve_admin};
