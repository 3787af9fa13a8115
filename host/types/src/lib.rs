//! The types that the other crates share, in the order in which an event meets them.
//!
//! `cache`, `dispatch` and `runtime` never import one another. The types that pass between them are defined here:
//!
//! 1. [`Gvr`] names a resource, [`ObjectKey`] names one object of it, and [`Source`] names the shared informer that
//!    serves it.
//! 2. [`Object`] is one state of an object: its raw JSON and a small parsed header.
//! 3. [`Notification`] is one change with its [`Cause`]. `cache` passes it to a [`NotificationSink`].
//! 4. [`Delivery`] is one attempt to notify a handler. `dispatch` passes it to an [`EventHandler`] and receives an
//!    [`Outcome`].
//! 5. [`Request`] is one key of a plugin's [`Workqueue`] that a worker has taken. `dispatch` passes it to a
//!    [`Reconciler`].
//! 6. Each stage records its decisions about an object as [`Step`]s in a [`Tracer`]. A sampled event carries an
//!    [`EventTrace`] through the stages. The steps of the event are added to this trace too.
//!
//! [`Pointer`], [`LabelSelector`] and [`FieldSelector`] are here because `cache` and `dispatch` both read objects with
//! them, and [`IndexPaths`] because the test host of the SDK for Rust has the indexes of `cache`. [`TokenBucket`],
//! [`Backoff`] and [`Histogram`] are the only ones of their kind in the project. [`ReadGrants`] and
//! [`WriteGrants`] are the contents of `[plugin.grant]`, which `runtime` enforces.
//!
//! This crate has no I/O and starts no tasks: no tokio, no kube, no wasmtime.
#![forbid(unsafe_code)]

mod backoff;
mod cause;
mod condition;
mod counted;
mod debug_file;
mod declared_reads;
mod failure;
mod grant;
mod gvr;
mod handler;
mod histogram;
mod index_path;
mod json;
mod key;
mod name;
mod notification;
mod object;
mod one_line;
mod pattern;
mod selector;
mod service_account;
mod signal;
mod sync;
mod token_bucket;
mod trace;
mod uid;
mod units;
mod workqueue;

pub use backoff::Backoff;
pub use cause::Cause;
pub use condition::{Condition, Judge};
pub use counted::counted;
pub use debug_file::{DEBUG_FILE, DebugOf};
pub use declared_reads::DeclaredReads;
pub use failure::{Failure, FailureKind};
pub use grant::{
    InvalidGrant, Namespaces, ReadGrant, ReadGrants, SecretGrant, SecretGrants, SecretScope, WriteGrant,
    WriteGrants, WriteVerb, is_subresource,
};
pub use gvr::{Gvr, InvalidGvr, Source};
pub use handler::{Delivery, EventHandler, MAX_BATCH, Outcome};
pub use histogram::Histogram;
pub use index_path::{IndexPath, IndexPaths};
pub use json::{
    DigestForm, InvalidJson, InvalidPointer, NotJson, Part, PartTree, PartsError, Pointer, RawString, Reads,
    Scanner, TooMuchToHash, container_length, differs, differs_from_digests, identity, locate,
    members_differ, stand_in,
};
pub use key::{InvalidKey, Name, ObjectKey};
pub use name::{is_namespace, is_object_name};
pub use notification::{Change, Notification, NotificationSink};
pub use object::{Body, BodyCodec, CodecError, Header, JsonText, Object, ObjectTooLarge, Owner, Vocabulary};
pub use one_line::{excerpt, is_hidden, one_line, some_of, visible_json};
pub use pattern::{InvalidPattern, Pattern};
pub use selector::{
    AnnotationSelector, FieldSelector, InvalidAnnotationSelector, InvalidFieldSelector, InvalidSelector,
    LabelSelector, UnreadableObject,
};
pub use service_account::{InvalidServiceAccount, ServiceAccount};
pub use signal::{InvalidSignal, Selected, Signal, SignalCall, SignalHandler};
pub use sync::SyncToken;
pub use token_bucket::TokenBucket;
pub use trace::{
    CallTrace, Enqueued, EventSpans, EventTrace, HostCall, HostRequest, KeyThen, Observed, SeenEvent, Step,
    Then, TraceContext, TraceSink, Traced, Tracer, Version, WatchVerb,
};
pub use uid::Uid;
pub use units::{micros, millis};
pub use workqueue::{AddError, KeyedVersion, Reconciled, Reconciler, Request, WorkKey, Workqueue};
