//! A host for tests: what a plugin asks for is answered from memory, on the test's own thread.
//!
//! It exists in native builds only. It answers as the interface promises, but it is not the host: there are no
//! grants, no limits and no deadline, and lists know no label selectors and no indexes (they are refused).
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
pub(crate) mod lister;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod objects;
mod state;
pub(crate) mod workqueue;

use serde_json::Value;

use crate::client::ApiCode;
use crate::{Event, ObjectKey, Update};
use state::with_state;

pub use client::Request;
pub use log::Line;

/// The host of the current thread: what a test puts into it, a plugin called on this thread finds.
#[derive(Debug)]
pub struct TestHost {
    _one_thread: std::marker::PhantomData<*const ()>,
}

// === impl TestHost ===

impl TestHost {
    /// An empty host. It replaces what an earlier one on this thread held.
    #[expect(
        clippy::new_without_default,
        reason = "it changes the thread's state, which a default should not"
    )]
    #[must_use]
    pub fn new() -> Self {
        with_state(|state| *state = state::State::default());
        Self { _one_thread: std::marker::PhantomData }
    }

    /// Puts an object into the cache of a resource, or replaces the one of the same namespace and name.
    pub fn store(&self, gvr: &str, object: Value) {
        let meta = state::meta(&object);
        with_state(|state| {
            state.resource(gvr).objects.insert((meta.namespace, meta.name), object);
        });
    }

    /// Takes an object out of the cache.
    pub fn remove(&self, gvr: &str, key: &ObjectKey) {
        with_state(|state| {
            state.resource(gvr).objects.remove(&(key.namespace.clone(), key.name.clone()));
        });
    }

    /// Says whether the first list of a resource is in the cache. A resource never named here and without
    /// objects is not watched.
    pub fn set_synced(&self, gvr: &str, synced: bool) {
        with_state(|state| state.resource(gvr).synced = synced);
    }

    /// An object for `on_add` or `on_delete`. It does not go into the cache.
    #[must_use]
    pub fn event(&self, gvr: &str, object: Value) -> Event {
        Event::new(gvr.to_owned(), state::meta(&object), with_state(|state| state.hand_out(object)))
    }

    /// A change for `on_update`. It does not go into the cache.
    #[must_use]
    pub fn update(&self, gvr: &str, old: Value, new: Value) -> Update {
        let old = with_state(|state| state.hand_out(old));
        Update::new(old, self.event(gvr, new))
    }

    /// The writes and Events that the plugin asked for so far, in order; those that failed too.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        with_state(|state| state.requests.clone())
    }

    /// Lets the next request of the plugin that has no failure yet fail with this code.
    pub fn fail_request(&self, code: ApiCode, message: &str) {
        let failure = client::error(code, 0, message.to_owned());
        with_state(|state| state.failures.push_back(failure));
    }

    /// Ends the call in hand: the objects handed out so far are stale, as they are for the host.
    pub fn end_call(&self) {
        with_state(state::State::forget_objects);
    }

    /// The next key that waits in the workqueue, taken out of it: a test hands it to `reconcile`. No delay is waited for,
    /// and keys with one come last, the earliest first.
    pub fn take_key(&self) -> Option<String> {
        with_state(|state| {
            let keys = &mut state.workqueue;
            // One that waits and has a delay too stays due (W-7).
            keys.waiting.pop_front().or_else(|| {
                let (earliest, _) = keys.delayed.iter().min_by_key(|(_, millis)| **millis)?;
                let earliest = earliest.clone();
                keys.delayed.remove(&earliest);
                Some(earliest)
            })
        })
    }

    /// What the plugin wrote through [`log`](mod@crate::log) so far, in order.
    #[must_use]
    pub fn log(&self) -> Vec<Line> {
        with_state(|state| state.log.clone())
    }
}

#[cfg(test)]
mod tests;
