//! An embedded API server for development and tests.
//!
//! Real clients (kubectl, client-go, kube-rs) use it over HTTP as they use kube-apiserver. No cluster is needed.
//!
//! One request flows one way through the modules:
//!
//! ```text
//!   server      listener, connections, shutdown
//!     v
//!   routes      finds the handler by path and method
//!     v  \--> negotiate               the form of the answer: object, metadata only, table
//!     |  \--> discovery, openapi      documents about the server
//!     |  \--> protobuf, schema        reads bodies and checks their fields
//!     |  \--> patch, managed_fields   applies patches and server-side applies
//!     v
//!   write       one write: options, defaults, validation
//!     v  \--> namespace, crd          the rules of namespaces and definitions
//!     |  \--> consequence             the writes that follow: empties namespaces, serves definitions, collects garbage
//!     v
//!   storage     collections, history, one revision
//!     |
//!     +--> watch, selector            a filtered cursor over the history
//!     +--> encode, table, answer      the bytes of an answer
//! ```
//!
//! The server does not have: authentication, authorization, TLS, admission webhooks; answers in protobuf or CBOR (it
//! reads protobuf requests); YAML bodies; schemas of custom resources (their objects are stored as sent); conversion
//! webhooks; validation of built-in specs beyond the names and types of their fields, except a few rules for ConfigMaps,
//! Secrets, Events, PodDisruptionBudgets and bindings of roles; controllers, except those that empty namespaces, establish
//! definitions and, if configured, collect garbage.
//!
//! The server shares no code with the informer's own list and watch. Otherwise one misunderstanding of the protocol could be in both, and
//! no test would find it.
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

mod answer;
mod api;
mod config;
mod consequence;
mod crd;
mod discovery;
mod encode;
mod managed_fields;
mod name;
mod namespace;
mod negotiate;
mod object;
mod openapi;
mod patch;
mod protobuf;
mod registry;
mod routes;
mod schema;
mod selector;
mod server;
mod status;
mod storage;
mod table;
mod watch;
mod write;

pub use config::{Config, GoneStyle};
pub use registry::{ResourceNames, built_in_names};
pub use server::{DevServer, LoadError, StartError};
