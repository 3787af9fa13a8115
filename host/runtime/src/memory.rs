//! The memory that guests take on the host: what each instance is charged, its limit, and the ceiling over all plugins.

mod ceiling;
mod handles;

use std::sync::Arc;

use wasmtime::ResourceLimiter;

pub use ceiling::GuestMemory;
pub(crate) use ceiling::{Account, Amount, Ceiling};
pub(crate) use handles::Handles;

/// The most elements of one table: filling it is one step that cannot be interrupted. A large Python component has about ten
/// thousand.
const TABLE_ELEMENTS: usize = 1_000_000;

/// Bytes that wasmtime allocates for one element of a table. All are references to functions: the features that have other
/// ones are off.
const ELEMENT: usize = size_of::<usize>();

/// Bytes for the store of an instance: wasmtime's, and the host's own data in it.
const STORE: u64 = 64 << 10;

/// Charges an instance for its memories, its tables, its handles and wasmtime's structures, and refuses more than the limit of
/// the instance or the ceiling over all plugins. Dropping it gives everything back to the ceiling.
pub(crate) struct MemoryLimit {
    limit: u64,
    used: Amount,
    /// Bytes of linear memories, which are a part of `used`.
    linear: u64,
    account: Arc<Account>,
    /// The first refusal, if the guest was refused memory.
    pub(crate) refused: Option<Refusal>,
}

/// Why memory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The instance would exceed its own limit.
    Limit,
    /// All plugins together would exceed the ceiling.
    Ceiling,
}

// === impl MemoryLimit ===

impl MemoryLimit {
    /// A limit in bytes for one instance of the plugin with this account.
    pub(crate) fn new(limit: usize, account: Arc<Account>) -> Self {
        Self { limit: limit as u64, used: Amount::default(), linear: 0, account, refused: None }
    }

    /// The ceiling over all plugins.
    pub(crate) fn ceiling_bytes(&self) -> u64 {
        self.account.ceiling().bytes().unwrap_or(u64::MAX)
    }

    /// Charges what wasmtime allocates to instantiate, besides memories and tables. Returns false if it is refused.
    pub(crate) fn charge_structures(&mut self, structures: Amount) -> bool {
        self.charge(structures.plus(Amount { bytes: STORE, memories: 0 }))
    }

    fn charge_bytes(&mut self, bytes: usize) -> bool {
        self.charge(Amount { bytes: bytes as u64, memories: 0 })
    }

    fn charge(&mut self, more: Amount) -> bool {
        let within = self.used.bytes.saturating_add(more.bytes) <= self.limit;
        let refusal = if !within {
            Refusal::Limit
        } else if !self.account.take(more) {
            Refusal::Ceiling
        } else {
            self.used = self.used.plus(more);
            return true;
        };
        self.refused.get_or_insert(refusal);
        self.account.refusals.increment();
        false
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        self.account.give_back(self.used);
        self.account.linear_ended(self.linear);
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // wasmtime refuses it itself, after this call.
        let fails = maximum.is_some_and(|maximum| desired > maximum);
        if fails {
            return Ok(true);
        }
        let more = desired.saturating_sub(current);
        let granted = self.charge_bytes(more);
        if granted {
            self.linear = self.linear.saturating_add(more as u64);
            self.account.linear_grew(more as u64);
        }
        Ok(granted)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let fails = maximum.is_some_and(|maximum| desired > maximum);
        let elements = if desired > TABLE_ELEMENTS { usize::MAX } else { desired.saturating_sub(current) };
        Ok(fails || self.charge_bytes(elements.saturating_mul(ELEMENT)))
    }
}
