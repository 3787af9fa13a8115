//! The vocabulary the other crates meet in, in the order an event meets it.
//!
//! `cache`, `dispatch` and `runtime` never import one another. What passes between them is defined here:
//!
//! 1. [`Gvr`] names a resource, [`ObjectKey`] one object of it, [`Source`] the shared informer that serves it.
//! 2. [`Object`] is one state of an object: its raw JSON plus a small parsed header.
//! 3. [`Notification`] is one change, with its [`Cause`]; `cache` hands it to a [`NotificationSink`].
//! 4. [`Delivery`] is one attempt to tell a handler; `dispatch` hands it to an [`EventHandler`] and gets an
//!    [`Outcome`] back.
//! 5. A [`Request`] is one key of a plugin's [`Workqueue`] whose turn has come; `dispatch` hands it to a
//!    [`Reconciler`].
//! 6. What each stage decides about an object it writes to a [`Tracer`]: a [`Step`], for whoever asks why.
//!
//! [`Pointer`], [`LabelSelector`] and [`FieldSelector`] are here because both sides of the queue read objects with them.
//! [`TokenBucket`], [`Backoff`] and [`Histogram`] are the only ones of their kind: each stage limits, waits and measures with them.
//! [`ReadGrants`] and [`WriteGrants`] are what `[plugin.grant]` says, and `runtime` enforces.
//! No tokio, no kube, no wasmtime: this crate has no I/O and starts nothing.
#![forbid(unsafe_code)]

mod backoff;
mod grant;
mod gvr;
mod handler;
mod histogram;
mod json;
mod key;
mod notification;
mod object;
mod one_line;
mod reconciler;
mod selector;
mod sink;
mod source;
mod sync;
mod token_bucket;
mod trace;
mod workqueue;

pub use backoff::Backoff;
pub use grant::{
    InvalidGrant, Namespaces, ReadGrant, ReadGrants, SecretGrant, SecretGrants, WriteGrant, WriteGrants,
    WriteVerb, is_namespace, is_subresource,
};
pub use gvr::{Gvr, InvalidGvr};
pub use handler::{Delivery, EventHandler, Failure, FailureKind, Outcome};
pub use histogram::Histogram;
pub use json::{InvalidJson, InvalidPointer, NotJson, Pointer, RawString, Scanner, differs, locate, lookup};
pub use key::{InvalidKey, ObjectKey};
pub use notification::{Cause, Change, Notification};
pub use object::{Body, BodyCodec, CodecError, Header, JsonText, Object, ObjectTooLarge, Owner};
pub use one_line::one_line;
pub use reconciler::{Reconciled, Reconciler, Request};
pub use selector::{FieldSelector, InvalidFieldSelector, InvalidSelector, LabelSelector, UnreadableObject};
pub use sink::NotificationSink;
pub use source::Source;
pub use sync::SyncToken;
pub use token_bucket::TokenBucket;
pub use trace::{Enqueued, KeyThen, Step, Then, TraceSink, Traced, Tracer, Version, WatchVerb};
pub use workqueue::{AddError, Workqueue};
