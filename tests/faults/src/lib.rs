//! A Kubernetes API server that fails on demand, over real HTTP/1.1 and HTTP/2, for tests of the informer.
//!
//! [`FaultServer`] holds one small [`Collection`] of pods with growing resource versions and a history. By default it
//! behaves correctly: lists in pages, watches from a resource version, bookmarks, streaming lists, and 410 and 504
//! in the cases in which Kubernetes sends them. A test assigns a [`Fault`] to a request with [`FaultServer::plan`], or
//! disturbs open watches with [`FaultServer::cut`] and [`FaultServer::send`]. Every [`Request`] is recorded.
//!
//! There are two other test servers. The script of `host/cache/tests/server` is in memory and defines each answer
//! completely, whereas this server spoils correct answers on the wire and thereby also tests the client's HTTP
//! library. The TCP proxy of `informer-tests` does not understand HTTP.
#![forbid(unsafe_code)]

mod answer;
mod body;
mod client;
mod collection;
mod connection;
mod continue_token;
mod fault;
mod frame;
mod outlet;
mod plan;
mod port;
mod reply;
mod request;
mod server;
mod service;
mod status;
mod watch;
mod wire;

pub use client::HttpVersion;
pub use collection::{Change, ChangeKind, Collection};
pub use fault::{Cut, Fault};
pub use frame::Frame;
pub use h2::Reason;
pub use plan::On;
pub use port::ReservedPort;
pub use request::{Call, Request};
pub use server::FaultServer;
pub use status::Status;
pub use watch::StreamingLists;
