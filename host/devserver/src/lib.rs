//! An API server for development and tests, embedded in the process: real clients (kubectl,
//! client-go, kube-rs) speak HTTP to it as they would to kube-apiserver, and no cluster is needed.
//!
//! One request flows one way through the modules:
//!
//! ```text
//!   server      listener, connections, shutdown
//!     v
//!   routes      path, query and body -> what is meant; negotiate: in which shape the answer is wanted
//!     v  \--> discovery, openapi      documents about the server
//!     |  \--> protobuf, schema        bodies read, their fields checked
//!     |  \--> patch, managed_fields   what a patch or an apply makes of an object
//!     v
//!   rest        the life of an object: strategy, defaults, validation
//!     v  \--> crd, gc                 what follows from a write
//!   storage     collections, history, one revision
//!     |
//!     +--> watch, selector            a cursor over the history, filtered
//!     +--> encode, table              bytes of an answer
//! ```
//!
//! What it does not do: authentication, authorization, TLS, admission webhooks; answers in protobuf or
//! CBOR (protobuf requests are read); YAML bodies other than JSON; schemas of custom resources (their
//! objects are stored as sent); conversion webhooks; validation of built-in specs beyond the names and
//! types of their fields; controllers other than those that empty namespaces, establish definitions
//! and, where asked, collect garbage.
//!
//! It shares no code with the informer's own list and watch: the wire is all they have in common, or
//! both would share one misunderstanding.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use informer_devserver::{Config, DevServer};
//!
//! let server = DevServer::start(Config::default()).await?;
//! println!("KUBECONFIG:\n{}", server.kubeconfig());
//! server.shutdown().await;
//! # Ok(()) }
//! ```

mod api;
mod base64;
mod config;
mod crd;
mod discovery;
mod encode;
mod gc;
mod managed_fields;
mod name;
mod negotiate;
mod object;
mod openapi;
mod patch;
mod protobuf;
mod registry;
mod rest;
mod routes;
mod schema;
mod selector;
mod server;
mod status;
mod storage;
mod table;
mod watch;

pub use config::{Config, GoneStyle};
pub use server::{DevServer, LoadError, StartError};
