//! The standard interfaces for state, configuration and logging, as `wit-bindgen` generates them from `wit/deps`.
//!
//! - [`keyvalue`]: state that survives reloads and restarts of the host. The crate's own [`keyvalue`](mod@crate::keyvalue) has values
//!   in JSON and works in native tests. `keyvalue::batch` makes several writes one transaction.
//! - [`config`]: the table `[plugin.config]` as texts.
//! - [`logging`]: the standard log interface. The crate's own [`log`](crate::log) has fields.
//!
//! A component imports only the interfaces that it calls. A plugin that never calls [`keyvalue`] needs no grant.
//!
//! ```no_run
//! use informer_sdk::wasi::keyvalue::{atomics, store};
//!
//! /// Counts updates. The count survives restarts of the host.
//! fn count() -> Result<u64, store::Error> {
//!     let bucket = store::open("counts")?;
//!     atomics::increment(&bucket, "updates", 1)
//! }
//! ```
//!
//! In native tests, outside of a component, these functions panic.
#![allow(missing_docs, reason = "generated; the WIT comments become the documentation where there are any")]
#![allow(unsafe_code, reason = "generated; the canonical ABI is pointers and lengths")]
#![allow(clippy::all, unused_qualifications, unreachable_pub, reason = "generated")]
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "generated")]

wit_bindgen::generate!({
    path: "wit",
    world: "standard",
    generate_all,
    additional_derives: [PartialEq, Eq],
});

pub use wasi::{config, keyvalue, logging};
