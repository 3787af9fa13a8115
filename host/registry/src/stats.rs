//! Counters of pulls.

use crate::{Pulled, RegistryError};

/// The outcomes of pulls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PullStats {
    /// Pulls that brought a component, from the registry or from the cache by the digest that the registry named.
    pub pulled: u64,
    /// Pulls that found the component known.
    pub unchanged: u64,
    /// Pulls that failed.
    pub failed: u64,
    /// Bytes of components that registries sent.
    pub received_bytes: u64,
}

// === impl PullStats ===

impl PullStats {
    /// Counts a pull that ended.
    pub fn ended(&mut self, pull: &Result<Pulled, RegistryError>) {
        match pull {
            Ok(Pulled { component, sent_bytes, .. }) => {
                self.received_bytes += sent_bytes;
                let ended = if component.is_some() { &mut self.pulled } else { &mut self.unchanged };
                *ended += 1;
            }
            Err(_) => self.failed += 1,
        }
    }
}
