//! What the standard has for state, configuration and logging, as `wit-bindgen` makes it of `wit/deps`.
//!
//! A component imports what it calls: without a call into [`keyvalue`] it needs no grant.
//!
//! - [`keyvalue`]: what a plugin keeps over reloads and restarts of the host. Needs `keyvalue = "1MiB"`, the most bytes
//!   it may keep, under `[plugin.grant]`. Buckets are made by opening them, and are the plugin's own. A write that
//!   returned is on the host's disk; with `keyvalue::batch` several are one transaction.
//! - [`config`]: the table `[plugin.config]` as texts.
//! - [`logging`]: the standard's `log`; the crate's own [`log`](crate::log) has fields.
//!
//! ```no_run
//! use informer_sdk::wasi::keyvalue::{atomics, store};
//!
//! /// Counts over restarts of the host.
//! fn count() -> Result<u64, store::Error> {
//!     let bucket = store::open("counts")?;
//!     atomics::increment(&bucket, "updates", 1)
//! }
//! ```
//!
//! Outside of a component, in native tests, these functions panic.
#![allow(missing_docs, reason = "generated; the WIT comments become the documentation where there are any")]
#![allow(unsafe_code, reason = "generated; the canonical ABI is pointers and lengths")]
#![allow(clippy::all, unused_qualifications, unreachable_pub, reason = "generated")]
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "generated")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "standard",
    generate_all,
    additional_derives: [PartialEq, Eq],
});

pub use wasi::{config, keyvalue, logging};
