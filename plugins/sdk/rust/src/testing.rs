//! A host for native tests of a plugin. It answers from memory, on the test's own thread.
//!
//! The test host keeps the promises of the interface, with these exceptions: it has no grants, no limits and no deadlines. It
//! refuses JSON patches, treats server-side apply as a merge patch, and ignores subresources. The field selectors of
//! [`client`](crate::client) have the two fields that the API server supports for every resource: `metadata.name` and
//! `metadata.namespace`. Label selectors and indexes work as in the host, a deleted object stays until it has no finalizers, and
//! key-values are kept until the next [`TestHost::new`]. The module exists in native builds only.
//!
//! ```
//! use informer_sdk::testing::TestHost;
//! use informer_sdk::{Cause, Config, Event, Handler, Result, log};
//! use serde_json::json;
//!
//! struct Hello;
//!
//! impl Handler for Hello {
//!     fn start(_config: Config) -> std::result::Result<Self, String> {
//!         Ok(Self)
//!     }
//!
//!     fn on_add(&mut self, object: Event, _cause: Cause) -> Result {
//!         let replicas = object.get::<u32>("/spec/replicas")?;
//!         log::info!(replicas = replicas.unwrap_or(1); "hello {}", object.name());
//!         Ok(())
//!     }
//! }
//!
//! let host = TestHost::new();
//! let mut hello = Hello::start(Config::from_json("{}")).unwrap();
//! let web = json!({"metadata": {"namespace": "default", "name": "web"}, "spec": {"replicas": 3}});
//!
//! hello.on_add(host.event("apps/v1/deployments", web), Cause::Live).unwrap();
//!
//! assert_eq!(host.log()[0].to_string(), "info hello web replicas=3");
//! ```

pub(crate) mod client;
pub(crate) mod delivery;
pub(crate) mod keyvalue;
pub(crate) mod lister;
mod lists;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod objects;
mod pages;
mod state;
pub(crate) mod timer;
pub(crate) mod workqueue;

use std::time::Duration;

use informer_types::{IndexPath, IndexPaths};
use serde_json::Value;

use crate::client::{ApiCode, forget_writes};
use crate::{Cause, Change, Event, Notification, ObjectKey, Synced, Update};
use state::with_state;

pub use state::{Line, Request};

/// The host of the current thread. A plugin that runs on this thread finds what the test stored.
#[derive(Debug)]
pub struct TestHost {
    _one_thread: std::marker::PhantomData<*const ()>,
}

// === impl TestHost ===

impl TestHost {
    /// Makes an empty host. It replaces the state of an earlier host on this thread, and the plugin forgets its own writes
    /// ([`is_own_write`](crate::client::is_own_write)).
    #[expect(
        clippy::new_without_default,
        reason = "it changes the thread's state, which a default should not"
    )]
    #[must_use]
    pub fn new() -> Self {
        with_state(|state| *state = state::State::default());
        forget_writes();
        Self { _one_thread: std::marker::PhantomData }
    }

    /// Stores an object in the cache of a resource. It replaces an object with the same namespace and name.
    pub fn store(&self, gvr: &str, object: Value) {
        let key = state::meta(&object).key();
        with_state(|state| state.resource(gvr).insert(&key, object));
    }

    /// Removes an object from the cache of a resource.
    pub fn remove(&self, gvr: &str, key: &ObjectKey) {
        with_state(|state| state.resource(gvr).remove(key));
    }

    /// Declares an index of a resource, as `index` of its `[[watch]]` does: the values of an object are those at all pointers,
    /// and `*` in a pointer stands for every element of an array, as in `/spec/volumes/*/configMap/name`. The index has the
    /// objects that are stored before and after this call. It replaces an index of the same name.
    ///
    /// # Panics
    /// If a pointer is invalid.
    #[expect(clippy::panic, reason = "the test itself is wrong")]
    pub fn index(&self, gvr: &str, name: &str, pointers: &[&str]) {
        let paths: Result<IndexPaths, _> =
            pointers.iter().map(|pointer| pointer.parse::<IndexPath>()).collect();
        let paths = paths.unwrap_or_else(|problem| panic!("the index `{name}`: {problem}"));
        with_state(|state| state.resource(gvr).indexes.insert(name.to_owned(), paths));
    }

    /// Sets whether the first list of a resource is in the cache.
    ///
    /// The test host watches a resource after the first call of this function, of [`store`](Self::store) or of
    /// [`index`](Self::index) for it, and after the first request of the plugin for it. Reads of the cache fail before that.
    pub fn set_synced(&self, gvr: &str, synced: bool) {
        with_state(|state| state.resource(gvr).synced = synced);
    }

    /// Makes an object for `on_add` or `on_delete`. It does not store the object in the cache.
    #[must_use]
    pub fn event(&self, gvr: &str, object: Value) -> Event {
        Event::new(gvr.to_owned(), state::meta(&object), with_state(|state| state.hand_out(object)))
    }

    /// Makes a change for `on_update`. It does not store the object in the cache.
    #[must_use]
    pub fn update(&self, gvr: &str, old: Value, new: Value) -> Update {
        let old = with_state(|state| state.hand_out(old));
        Update::new(old, self.event(gvr, new))
    }

    /// Makes a notification for `on_batch`, of the first attempt and with the cause `Live`.
    #[must_use]
    pub fn notification(&self, change: Change) -> Notification {
        Notification { change, cause: Cause::Live, attempt: 1 }
    }

    /// Makes what `on_synced` receives for a resource: the number of its objects in the cache, and no version.
    #[must_use]
    pub fn synced(&self, gvr: &str) -> Synced {
        let count = with_state(|state| state.resource(gvr).in_namespace(None).count());
        Synced {
            gvr: gvr.to_owned(),
            count: u32::try_from(count).unwrap_or(u32::MAX),
            resource_version: String::new(),
        }
    }

    /// Returns the writes and Events that the plugin requested so far, in order, including failed requests.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        with_state(|state| state.requests.clone())
    }

    /// Makes the next request of the plugin fail with this code. Each further call makes the request after that fail too.
    pub fn fail_request(&self, code: ApiCode, message: &str) {
        let failure = client::error(code, 0, message.to_owned());
        with_state(|state| state.failures.push_back(failure));
    }

    /// Makes the next creation, update, patch or deletion of the plugin fail with this code, and lets reads before it succeed.
    pub fn fail_write(&self, code: ApiCode, message: &str) {
        let failure = client::error(code, 0, message.to_owned());
        with_state(|state| state.write_failures.push_back(failure));
    }

    /// Ends the current call. All objects that this host made so far, and the lists of the cache that are not at their end,
    /// become stale, as after a call of the real host.
    pub fn end_call(&self) {
        with_state(state::State::end_call);
    }

    /// Takes the next key out of the workqueue, for a call of `reconcile`.
    ///
    /// Time does not pass: keys without a delay come first, and then the delayed keys, the shortest delay first.
    pub fn take_key(&self) -> Option<String> {
        workqueue::take()
    }

    /// Takes the timer that fires next, with its delay, for a call of `on_timer`. Time does not pass: the shortest delay comes
    /// first.
    pub fn take_timer(&self) -> Option<(String, Duration)> {
        timer::take().map(|(name, millis)| (name, Duration::from_millis(millis.into())))
    }

    /// Returns the delays of the calls of [`delivery::call_again`](crate::delivery::call_again) so far, in order. The test host calls
    /// nothing again.
    #[must_use]
    pub fn called_again(&self) -> Vec<Duration> {
        with_state(|state| state.again.iter().map(|millis| Duration::from_millis((*millis).into())).collect())
    }

    /// Returns the lines that the plugin wrote through [`log`](mod@crate::log) so far, in order.
    #[must_use]
    pub fn log(&self) -> Vec<Line> {
        with_state(|state| state.log.clone())
    }
}

#[cfg(test)]
mod tests;
