//! The components in use. Each is compiled once and held once, however many plugins use it.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::memory::Amount;

/// A component that can be instantiated.
pub(crate) struct Prepared {
    pub(crate) code: wasmtime::component::Component,
    /// What wasmtime allocates for one instance besides memories and tables.
    pub(crate) structures: Amount,
    /// The size of the component in bytes.
    pub(crate) bytes: u64,
    /// How long it took to compile the component, or to load its code from the cache.
    pub(crate) took: Duration,
}

/// The components of one engine by digest. It keeps none of them alive.
#[derive(Default)]
pub(crate) struct PreparedComponents(Mutex<State>);

#[derive(Default)]
struct State {
    in_use: HashMap<Arc<str>, Weak<Prepared>>,
    /// Those that are being prepared.
    preparing: HashMap<Arc<str>, Weak<Preparation>>,
}

/// The preparation of one component. Its callers take turns until one of them has prepared the component.
struct Preparation {
    /// The bytes of the component, once for all callers.
    bytes: Bytes,
    turn: tokio::sync::Mutex<()>,
}

// === impl PreparedComponents ===

impl PreparedComponents {
    /// Returns the component of this digest if a plugin uses it, and prepares it from its bytes otherwise. If several callers
    /// wait for the same component, one of them prepares it. If that fails, each of the others tries it in turn.
    ///
    /// # Errors
    /// Those of `prepare`.
    ///
    /// # Cancel safety
    /// If the future is dropped, so is its preparation, and another caller prepares the component.
    pub(crate) async fn get_or<E, F: Future<Output = Result<Prepared, E>>>(
        &self,
        digest: &Arc<str>,
        bytes: Vec<u8>,
        prepare: impl FnOnce(Bytes) -> F,
    ) -> Result<Arc<Prepared>, E> {
        let preparation = match self.join(digest, bytes) {
            Ok(prepared) => return Ok(prepared),
            Err(preparation) => preparation,
        };
        let _turn = preparation.turn.lock().await;
        if let Some(prepared) = self.get(digest) {
            return Ok(prepared);
        }
        let prepared = Arc::new(prepare(preparation.bytes.clone()).await?);
        self.0.lock().in_use.insert(Arc::clone(digest), Arc::downgrade(&prepared));
        Ok(prepared)
    }

    fn get(&self, digest: &str) -> Option<Arc<Prepared>> {
        self.0.lock().in_use.get(digest)?.upgrade()
    }

    /// The component if it is in use, or its preparation, which may have begun.
    fn join(&self, digest: &Arc<str>, bytes: Vec<u8>) -> Result<Arc<Prepared>, Arc<Preparation>> {
        let mut state = self.0.lock();
        state.in_use.retain(|_, prepared| prepared.strong_count() > 0);
        state.preparing.retain(|_, preparation| preparation.strong_count() > 0);
        if let Some(prepared) = state.in_use.get(digest).and_then(Weak::upgrade) {
            return Ok(prepared);
        }
        Err(state.preparing.get(digest).and_then(Weak::upgrade).unwrap_or_else(|| {
            let new = Arc::new(Preparation { bytes: bytes.into(), turn: tokio::sync::Mutex::default() });
            state.preparing.insert(Arc::clone(digest), Arc::downgrade(&new));
            new
        }))
    }
}
