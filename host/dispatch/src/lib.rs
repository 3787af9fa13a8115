//! One queue and one dispatcher per plugin, between the listeners and the handler.
//!
//! In the order an event meets it:
//!
//! 1. A listener offers a notification to the subscription's [`Filter`]; what passes goes to the plugin's [`Queue`].
//!    That never blocks.
//! 2. `coalesce` merges it with what is still pending for the same object: the merging rule, written once.
//! 3. The queue hands objects to workers, live ones before initial, relisted, resynced and replayed ones in a
//!    fair ratio, and never one object to two workers; no faster than its rate, no more retries than its budget, and
//!    none but a probe to a plugin in quarantine.
//! 4. A [`Dispatcher`] runs the workers: each makes one [`Delivery`](informer_types::Delivery) at a time.
//! 5. [`RetryConfig`] is the one place that decides what a failure leads to: another attempt, or a
//!    [`DeadLetter`]; a [`DeadLetterKeeper`] keeps those beyond the end of the process.
//!
//! What is promised to handlers is the contract of `design.md` section 4: eventually consistent, in order per
//! object, at least once, merged only while pending, nothing dropped without a counter.
//!
//! ```
//! use std::{sync::Arc, time::Instant};
//!
//! use informer_dispatch::{Queue, QueueConfig, Settlement};
//! use informer_types::{Body, Cause, Change, Header, Notification, NotificationSink, Object, Source};
//!
//! let header = Header { namespace: "shop".into(), name: "web".into(), ..Header::default() };
//! let object = Arc::new(Object::new(&header, Body::Raw("{}".into()))?);
//! let told = |change| Notification {
//!     source: Source::new("v1/pods".parse().unwrap()),
//!     change,
//!     cause: Cause::Live,
//!     initial: None,
//!     observed: Instant::now(),
//! };
//!
//! let queue = Queue::new(&QueueConfig::default());
//! queue.offer(told(Change::Updated { old: object.clone(), new: object.clone() }));
//! queue.offer(told(Change::Deleted { object, final_state_known: true }));
//!
//! // The update was not told yet and nobody needs it any more.
//! let (lease, delivery) = queue.take().unwrap();
//! assert_eq!(delivery.notification.change.verb(), "delete");
//! lease.settle(Settlement::Acknowledged);
//! assert!(queue.take().is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Beside it stands the plugin's own [`workqueue`] of keys, with the workers that reconcile them.
#![forbid(unsafe_code)]

mod coalesce;
mod dead_letter;
mod dispatcher;
mod entry;
mod filter;
mod idle;
mod object_ref;
mod pending;
mod queue;
mod retry;
#[cfg(test)]
mod testing;
pub mod workqueue;

pub use coalesce::Merge;
pub use dead_letter::{DeadLetter, DeadLetterKeeper, DeadLetterStore, Letter, LetterBox};
pub use dispatcher::{DispatchConfig, Dispatcher, DispatcherHandle};
pub use filter::{
    Events, Filter, FilterConfig, FilterStats, InvalidWhen, MAX_ENTRIES, MAX_WHEN_BYTES, Suppressed, When,
    WhenError, WhenStats,
};
pub use object_ref::ObjectRef;
pub use queue::{
    Backlog, DeliveryMode, Lease, MergeCounts, Quarantine, QuarantineConfig, Queue, QueueConfig, QueueStats,
    Rate, Standing, Stands,
};
pub use retry::{Fate, RetryConfig, Settled, Settlement};
