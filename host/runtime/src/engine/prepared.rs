//! The components in use. Each is compiled once and held once, however many plugins use it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use informer_types::DeclaredReads;

use super::in_use::InUse;
use crate::memory::Amount;

/// A component that can be instantiated.
pub(crate) struct Prepared {
    pub(crate) code: wasmtime::component::Component,
    /// What wasmtime allocates for one instance besides memories and tables.
    pub(crate) structures: Amount,
    /// What the component declares to read.
    pub(crate) reads: DeclaredReads,
    /// The size of the component in bytes.
    pub(crate) bytes: u64,
    /// How long it took to compile the component, or to load its code from the cache.
    pub(crate) took: Duration,
}

/// The components of one engine, by digest. This type does not keep them alive.
#[derive(Default)]
pub(crate) struct PreparedComponents {
    in_use: InUse<Prepared>,
    /// The components that are being prepared.
    preparing: InUse<Preparation>,
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
    /// Returns the errors of `prepare`.
    ///
    /// # Cancel safety
    /// If the future is dropped, so is its preparation, and another caller prepares the component.
    pub(crate) async fn get_or<E, F: Future<Output = Result<Prepared, E>>>(
        &self,
        digest: &Arc<str>,
        bytes: Bytes,
        prepare: impl FnOnce(Bytes) -> F,
    ) -> Result<Arc<Prepared>, E> {
        if let Some(prepared) = self.in_use.get(digest) {
            return Ok(prepared);
        }
        let new = || Preparation { bytes, turn: tokio::sync::Mutex::default() };
        let preparation = self.preparing.share(digest, new);
        let _turn = preparation.turn.lock().await;
        // Another caller may have prepared it meanwhile.
        if let Some(prepared) = self.in_use.get(digest) {
            return Ok(prepared);
        }
        let prepared = prepare(preparation.bytes.clone()).await?;
        Ok(self.in_use.share(digest, || prepared))
    }
}
