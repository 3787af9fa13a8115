//! One queue and one dispatcher per plugin, between the listeners and the handler.
//!
//! The way of a notification:
//!
//! 1. A listener offers the notification to the subscription's [`Filter`]. If it passes, it goes to the plugin's [`Queue`]. That
//!    never blocks.
//! 2. `coalesce` merges it with the pending notifications of the same object: the merging rule.
//! 3. The queue hands objects to workers: objects with live changes before listed, relisted, resynced and replayed ones, in a
//!    fair ratio, and never one object to two workers. A rate limits the calls, a budget limits the retries, and a plugin in
//!    quarantine gets no calls except probes.
//! 4. A [`Dispatcher`] runs the workers. Each makes one [`Delivery`](informer_types::Delivery) at a time.
//! 5. [`RetryConfig`] decides what happens after a failure: another attempt, or a [`DeadLetter`]. A [`DeadLetterKeeper`] keeps dead
//!    letters beyond the end of the process.
//!
//! The contract for handlers: eventually consistent, in order per object, at least once, merged only while pending, and nothing
//! dropped without a counter.
//!
//! ```
//! use std::{sync::Arc, time::Instant};
//!
//! use informer_dispatch::{Queue, QueueConfig, Settlement};
//! use informer_types::{Body, Cause, Change, Header, Notification, NotificationSink, Object, Source};
//!
//! let header = Header { namespace: "shop".into(), name: "web".into(), ..Header::default() };
//! let object = Arc::new(Object::new(&header, Body::Raw("{}".into()))?);
//! let notification = |change| Notification {
//!     source: Source::new("v1/pods".parse().unwrap()),
//!     change,
//!     cause: Cause::Live,
//!     initial: None,
//!     observed: Instant::now().into(),
//! };
//!
//! let queue = Queue::new(&QueueConfig::default());
//! queue.offer(notification(Change::Updated { old: object.clone(), new: object.clone() }));
//! queue.offer(notification(Change::Deleted { object, final_state_known: true }));
//!
//! // The update was still pending, so the deletion replaced it.
//! let (lease, delivery) = queue.take().unwrap();
//! assert_eq!(delivery.notification.change.verb(), "delete");
//! lease.settle(Settlement::Acknowledged);
//! assert!(queue.take().is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The plugin's own [`workqueue`] holds keys, with the workers that reconcile them. If a plugin has only a reconciler, its
//! notifications become keys. Both queues share their core, `keyed`.
#![forbid(unsafe_code)]

mod coalesce;
mod dead_letter;
mod dispatcher;
mod entry;
mod filter;
mod keyed;
mod letters;
mod queue;
mod receipts;
mod retry;
#[cfg(test)]
mod testing;
mod workers;
pub mod workqueue;

pub use coalesce::Merge;
pub use dead_letter::DeadLetter;
pub use dispatcher::{DispatchConfig, Dispatcher};
pub use entry::ObjectRef;
pub use filter::{
    Changed, Events, Filter, FilterConfig, FilterStats, Initial, InvalidWhen, MAX_ENTRIES, MAX_WHEN_BYTES,
    Suppressed, When, WhenError, WhenStats,
};
pub use keyed::{NextRetry, Quarantine, QuarantineConfig, Stands};
pub use letters::{DeadLetterKeeper, DeadLetterStore, Letter, LetterBox};
pub use queue::{
    Backlog, DeliveryMode, Lease, MAX_SETTLE, MergeCounts, Queue, QueueBuilder, QueueConfig, QueueStats,
    Rate, SETTLES_WITHIN, Standing,
};
pub use receipts::{Batch, First, Receipt, Receipts, Rows, Skip, Write};
pub use retry::{Fate, RetryConfig, Settled, Settlement};
