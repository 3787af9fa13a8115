//! A Kubernetes API server that fails on demand, over real HTTP/1.1 and HTTP/2, for tests of the informer.
//!
//! [`FaultServer`] holds one small [`Collection`] of pods with growing resource versions and a history. Asked
//! for nothing else, it behaves: lists in pages, watches from a resource version, bookmarks, streaming lists,
//! 410 and 504 where Kubernetes answers so. A test then says which request is to meet which [`Fault`], with
//! [`FaultServer::plan`], or strikes at what is open now, with [`FaultServer::cut`] and [`FaultServer::send`].
//! Every [`Request`] is recorded.
//!
//! Where the in-memory script of `host/cache/tests/server` says what each answer is, this server knows the
//! right answer and spoils it: on the wire, where the client's HTTP library has its say. The TCP proxy of
//! `informer-tests` knows nothing of HTTP; this server does.
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
